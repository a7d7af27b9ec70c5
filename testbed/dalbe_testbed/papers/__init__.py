# SPDX-License-Identifier: GPL-2.0-only
"""Values and simulations of the papers, to compare our measurements with."""
