# SPDX-License-Identifier: GPL-2.0-only
"""Makes runs: one in a backend, several at once, all that a sweep lacks."""
