# SPDX-License-Identifier: GPL-2.0-only
"""Studies: measures of a run, means over seeds, verdicts."""
