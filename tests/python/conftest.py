# SPDX-License-Identifier: GPL-2.0-only
"""Fixtures: the code under test. Hypothesis draws the same inputs every time."""

from __future__ import annotations

import pytest
from dalbe_testbed.purecode import Pure, load
from hypothesis import settings

settings.register_profile(
    "dalbe", derandomize=True, database=None, deadline=None, max_examples=500, print_blob=True
)
settings.load_profile("dalbe")


def pytest_configure(config: pytest.Config) -> None:
    """Make the mark known."""
    config.addinivalue_line(
        "markers", "slow: takes seconds, and found no drawn fault alone: not in make quick"
    )


@pytest.fixture(scope="session")
def pure(tmp_path_factory: pytest.TempPathFactory) -> Pure:
    """All of core/, compiled for this machine."""
    return load(tmp_path_factory.mktemp("pure"))


@pytest.fixture(scope="session")
def each_ack(tmp_path_factory: pytest.TempPathFactory) -> Pure:
    """The same, but the base is asked at each ACK, as in the BPF edition: none is gathered.

    Where ACKs are gathered, B's Reno part is divided once for all of their packets.
    """
    return load(tmp_path_factory.mktemp("each_ack"), "-DPORT_EACH_ACK")
