# SPDX-License-Identifier: GPL-2.0-only
"""Fixtures: the code under test. Hypothesis draws the same inputs every time."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import settings
from pure import load

settings.register_profile(
    "dalbe", derandomize=True, database=None, deadline=None, max_examples=500, print_blob=True
)
settings.load_profile("dalbe")


class Pure:
    """The library's functions and constants as attributes, and structures to hand to them."""

    def __init__(self, ffi: Any, lib: Any) -> None:
        """Wrap what load() returns."""
        self.ffi, self._lib = ffi, lib

    def __getattr__(self, name: str) -> Any:
        return getattr(self._lib, name)

    def new(self, struct: str, **fields: Any) -> Any:
        """Return a pointer to a zeroed struct with these fields set."""
        return self.ffi.new(f"struct {struct} *", fields)


@pytest.fixture(scope="session")
def pure(tmp_path_factory: pytest.TempPathFactory) -> Pure:
    """cdg.c and dalbe.c, compiled for this machine."""
    return Pure(*load(tmp_path_factory.mktemp("pure")))
