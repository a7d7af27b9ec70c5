# SPDX-License-Identifier: GPL-2.0-only
"""The files that a search leaves."""

from pathlib import Path

from dalbe_testbed.hunt import scenario
from dalbe_testbed.hunt.search import CHECKS, SEEDS, Hunt


def write(hunt: Hunt, out: Path) -> list[str]:
    """Leave finds.txt and hunt-N.toml in out, return the lines of finds.txt: N, fitness, words."""
    out.mkdir(parents=True, exist_ok=True)
    for old in out.glob("hunt-*.toml"):
        old.unlink()
    base = {"base": hunt.base} if hunt.base else {}
    more = {"w": scenario.W, **base, "seed": hunt.seed + SEEDS, "seeds": CHECKS}
    lines = []
    for n, find in enumerate(hunt.finds(), 1):
        told = scenario.words(find.scenario)
        title = f"{find.kind} {find.confirmed:.3g}"
        lines.append(f"{n}: {title}: {scenario.line(told, **more)}")
        if not base and (text := scenario.experiment(told, f"hunt_{n}", title)):
            (out / f"hunt-{n}.toml").write_text(text)
    (out / "finds.txt").write_text("".join(f"{line}\n" for line in lines))
    return lines
