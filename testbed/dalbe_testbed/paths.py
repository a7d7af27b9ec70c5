# SPDX-License-Identifier: GPL-2.0-only
"""Where the repository keeps what the package reads."""

from pathlib import Path

TESTBED = Path(__file__).resolve().parent.parent
SWEEPS, EXPERIMENTS, REFERENCE = TESTBED / "sweeps", TESTBED / "experiments", TESTBED / "reference"
