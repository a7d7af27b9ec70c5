# SPDX-License-Identifier: GPL-2.0-only
"""A function of the module's C, or of the simulator's, can be read at one go."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest
from dalbe_testbed.purecode import CORE, PURE, ROOT

if TYPE_CHECKING:
    from pathlib import Path

FOLDERS = (CORE, ROOT / "kernel", ROOT / "port", PURE.parent)
FILES = sorted([
    *(path for path in ROOT.glob("*.[ch]") if not path.name.endswith(".mod.c")),
    *(path for folder in FOLDERS for path in folder.rglob("*.[ch]")),
])  # fmt: skip
COMMENT = re.compile(r"/\*.*?\*/|//[^\n]*", re.DOTALL)
FUNCTION = re.compile(r"^(?:\w[^\n]*?)?(\w+)\([^;{}]*\)\n\{\n(.*?)^\}", re.MULTILINE | re.DOTALL)


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(ROOT)))
def test_no_function_is_too_long(path: Path) -> None:
    functions = FUNCTION.findall(COMMENT.sub("", path.read_text()))
    assert [name for name, body in functions if body.count("\n") > 100] == []


def test_nothing_is_overlooked() -> None:
    """As many functions are found as the compiler would find by the brace that begins them."""
    code = "".join(COMMENT.sub("", path.read_text()) for path in FILES)
    assert len(FUNCTION.findall(code)) == len(re.findall(r"^\{$", code, re.MULTILINE)) > 300
