# SPDX-License-Identifier: GPL-2.0-only
"""Shows what was found: the HTML report."""
