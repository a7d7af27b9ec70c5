# SPDX-License-Identifier: GPL-2.0-only
"""Shows what was found: pictures, the HTML report, tables on the terminal."""
