# SPDX-License-Identifier: GPL-2.0-only
"""Plans runs: experiments, sweeps over them, and all that a seed decides."""
