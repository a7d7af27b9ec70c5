# SPDX-License-Identifier: GPL-2.0-only
"""What is to be run: experiments, sweeps over them, and all that a seed decides."""
