# SPDX-License-Identifier: GPL-2.0-only
"""What runs showed: measures of a run, means over seeds, verdicts."""
