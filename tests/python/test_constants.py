# SPDX-License-Identifier: GPL-2.0-only
"""Every constant of core/ has its reason at its definition, and what half and twice would do."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from dalbe_testbed.purecode import CORE

# A comment, and the constants that follow it without an empty line between.
GROUP = re.compile(r"/\*((?:(?!\*/).)*)\*/\n((?:#define [^\n]*\n)+)", re.DOTALL)
SENTENCES = re.compile(r"(\S+ ){8,}\S+[.]$")
# A comment says half and twice of it; or that others have given it, or that nothing comes near it.
REASON = re.compile(
    r"(?=.*\bhalf\b).*\btwice\b|\bgiven by\b|\bbounds? of arithmetic\b", re.IGNORECASE
)
NAME = re.compile(r"^#define (\w+)[ \t]+\S", re.MULTILINE)


def reasons(text: str) -> dict[str, str]:
    """Return the comment of each constant that a header defines."""
    groups = [
        (" ".join(comment.replace(" * ", " ").split()), names)
        for comment, names in GROUP.findall(text)
    ]
    return {name: comment for comment, names in groups for name in NAME.findall(names)}


@pytest.mark.parametrize("header", sorted(CORE.rglob("*.h")), ids=lambda path: path.name)
def test_every_constant_has_a_reason(header: Path) -> None:
    text = header.read_text()
    found = reasons(text)
    constants = [name for name in NAME.findall(text) if not name.endswith("_ONE")]
    assert sorted(name for name in constants if name not in found) == []
    for wanted in (SENTENCES, REASON):
        assert sorted(name for name in constants if not wanted.search(found[name])) == []
