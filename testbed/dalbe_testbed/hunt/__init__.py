# SPDX-License-Identifier: GPL-2.0-only
"""A search of the simulator for the scenarios in which the scavenger does worst."""
