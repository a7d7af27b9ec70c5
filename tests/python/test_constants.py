# SPDX-License-Identifier: GPL-2.0-only
"""Every constant of core/ has its reason at its definition, and what half and twice would do."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from dalbe_testbed.purecode import CORE

# A comment, and the constants that follow it without an empty line between.
GROUP = re.compile(r"/\*((?:(?!\*/).)*)\*/\n((?:#define .*\n)+)", re.DOTALL)
SENTENCES = re.compile(r"(\S+ ){8,}\S+[.]$")
NAME = re.compile(r"^#define (\w+)[ \t]+\S", re.MULTILINE)


def reasons(text: str) -> dict[str, str]:
    """Return the comment of each constant that a header defines."""
    groups = [
        (" ".join(comment.replace(" * ", " ").split()), names)
        for comment, names in GROUP.findall(text)
    ]
    return {name: comment for comment, names in groups for name in NAME.findall(names)}


@pytest.mark.parametrize("header", sorted(CORE.glob("*.h")), ids=lambda path: path.name)
def test_every_constant_has_a_reason(header: Path) -> None:
    text = header.read_text()
    found = reasons(text)
    constants = [name for name in NAME.findall(text) if not name.endswith("_ONE")]
    assert sorted(name for name in constants if name not in found) == []
    # what it is, and why: what would be at half and at twice, or who has given it
    assert sorted(name for name in constants if not SENTENCES.search(found[name])) == []
