# SPDX-License-Identifier: GPL-2.0-only
"""From what a guest recorded to the tables of a run, with the proof that the link was as said."""
