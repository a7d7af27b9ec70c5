# SPDX-License-Identifier: GPL-2.0-only
"""docs/design.md gives a reason for every constant of the module's pure parts, by its name."""

from __future__ import annotations

import re

import pytest
from dalbe_testbed.paths import TESTBED

ROOT = TESTBED.parent
PARTS = ("cdg", "cubic", "dalbe", "effect", "owd")


@pytest.mark.parametrize("part", PARTS)
def test_every_constant_has_a_reason(part: str) -> None:
    prefix = part.upper()
    texts = [(ROOT / f"{part}.{kind}").read_text() for kind in "ch"]
    names = {
        name
        for text in texts
        for name in re.findall(rf"^#define ({prefix}_[A-Z0-9_]+)[ \t]+\S", text, re.MULTILINE)
    }
    assert names, f"no constant in {part}.[ch]: has their prefix changed?"
    design = (ROOT / "docs/design.md").read_text()
    assert sorted(name for name in names if f"`{name}`" not in design) == []


def test_no_reason_is_left_for_a_constant_that_is_gone() -> None:
    sources = "".join(path.read_text() for path in sorted(ROOT.glob("*.[ch]")))
    prefixes = "|".join(part.upper() for part in PARTS)
    named = set(
        re.findall(rf"`((?:{prefixes})_[A-Z0-9_]+)`", (ROOT / "docs/design.md").read_text())
    )
    assert named
    assert sorted(name for name in named if not re.search(rf"\b{name}\b", sources)) == []
