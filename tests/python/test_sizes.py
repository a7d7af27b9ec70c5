# SPDX-License-Identifier: GPL-2.0-only
"""The module's C stays small: files, functions and structs, those of its stand-ins included."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest
from dalbe_testbed.purecode import CORE, PURE, ROOT

if TYPE_CHECKING:
    from pathlib import Path

# Not dalbe_ctl.h, the interface, nor kernel/trace.h: tracepoints are to tell all there is.
FILES = sorted(
    path
    for folder in (ROOT, CORE, ROOT / "kernel", PURE.parent)
    for path in folder.glob("*.[ch]")
    if path.name not in ("dalbe_ctl.h", "trace.h")
)
COMMENT = re.compile(r"/\*.*?\*/|//[^\n]*", re.DOTALL)
STRUCT = re.compile(r"^struct (\w+) \{\n(.*?)^\}", re.MULTILINE | re.DOTALL)
FUNCTION = re.compile(r"^(?:\w[^\n]*?)?(\w+)\([^;{}]*\)\n\{\n(.*?)^\}", re.MULTILINE | re.DOTALL)
# Innermost first: a function's arguments, and a union or struct without a name, which is one field.
INNER = re.compile(r"\([^()]*\)|\{[^{}]*\}")


def fields(body: str) -> int:
    """Count the fields of a struct: two of them may share a type, as in "u32 head, tail;"."""
    while INNER.search(body):
        body = INNER.sub("", body)
    return body.count(";") + body.count(",")


@pytest.mark.parametrize("path", FILES, ids=lambda path: f"{path.parent.name}/{path.name}")
def test_no_file_function_or_struct_is_too_large(path: Path) -> None:
    text = path.read_text()
    code = COMMENT.sub("", text)
    assert text.count("\n") <= 500
    assert [name for name, body in FUNCTION.findall(text) if body.count("\n") > 60] == []
    assert [name for name, body in STRUCT.findall(code) if fields(body) > 16] == []


def test_nothing_is_overlooked() -> None:
    """As many structs and functions are found as the compiler would find by their last line."""
    code = "".join(COMMENT.sub("", path.read_text()) for path in FILES)
    assert len(STRUCT.findall(code)) == len(re.findall(r"^struct \w+ \{$", code, re.MULTILINE)) > 40
    assert len(FUNCTION.findall(code)) == len(re.findall(r"^\{$", code, re.MULTILINE)) > 300
