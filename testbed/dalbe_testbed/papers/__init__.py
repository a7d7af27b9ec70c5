# SPDX-License-Identifier: GPL-2.0-only
"""What the papers state and simulate, to be compared with what we measure."""
