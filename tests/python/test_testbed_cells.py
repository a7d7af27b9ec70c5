# SPDX-License-Identifier: GPL-2.0-only
"""Cells side by side: what counts as agreement, and as the paper's figure reproduced."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from dalbe_testbed import cells
from dalbe_testbed.errors import TestbedError


def _cell(out: Path, name: str, shares: list[tuple[float, float]]) -> None:
    """Write OUT/NAME/cell.json with one seed per pair of CDG shares."""
    seeds = {
        str(seed): {"cdg1": one, "cdg2": two, "sender": one + two}
        for seed, (one, two) in enumerate(shares, start=1)
    }
    (out / name).mkdir()
    (out / name / "cell.json").write_text(json.dumps({"seeds": seeds}))


def _compared(out: Path) -> dict[str, object]:
    [row] = cells.compare(cells.runs(out)).to_dicts()
    return row


def test_means_within_the_wider_range_agree(tmp_path: Path) -> None:
    _cell(tmp_path, "dalbe_cdg-2-50", [(0.10, 0.10), (0.11, 0.11)])
    _cell(tmp_path, "cdg-2-50", [(0.11, 0.11), (0.115, 0.115)])
    assert _compared(tmp_path)["agree"] is True


def test_means_further_apart_than_any_range_do_not(tmp_path: Path) -> None:
    _cell(tmp_path, "dalbe_cdg-2-50", [(0.10, 0.10), (0.101, 0.101)])
    _cell(tmp_path, "cdg-2-50", [(0.11, 0.11), (0.111, 0.111)])
    assert _compared(tmp_path)["agree"] is False


@pytest.mark.parametrize(
    ("in_tree_percent", "holds"), [(6.7, True), (4.71, True), (4.69, False), (8.71, False)]
)
def test_table_1_holds_within_two_points_of_one_flow(
    tmp_path: Path, in_tree_percent: float, holds: bool
) -> None:
    share = in_tree_percent / 100
    _cell(tmp_path, "dalbe_cdg-0.1-50", [(0.067, 0.067)])
    _cell(tmp_path, "cdg-0.1-50", [(share, share)])
    row = _compared(tmp_path)
    assert (row["paper"], row["holds"]) == (6.7, holds)


def test_table_1_upper_bound_is_of_both_flows(tmp_path: Path) -> None:
    _cell(tmp_path, "dalbe_cdg-120-100", [(0.18, 0.19)])
    _cell(tmp_path, "cdg-120-100", [(0.14, 0.13)])
    row = _compared(tmp_path)
    assert (row["paper"], row["holds"]) == (37.3, False)


def test_nothing_to_compare_says_what_to_run(tmp_path: Path) -> None:
    with pytest.raises(TestbedError, match="make cells OUT="):
        cells.runs(tmp_path)
