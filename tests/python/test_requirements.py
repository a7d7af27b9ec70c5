# SPDX-License-Identifier: GPL-2.0-only
"""The table of requirements: tables are judged as runs are, and what they lack is said."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import polars as pl
import pytest
import test_breadth
import test_dynamics
import test_goals
import test_sessions
import test_tuning
from dalbe_testbed.plan import sweep
from dalbe_testbed.report import figures, requirements
from dalbe_testbed.study.engine import Case, Finding, judge

CASES: dict[str, Callable[[Path], Finding]] = {
    "breadth": lambda path: test_breadth.made(path, {"cell03": (80.0, 2.0), "cell07": (80.0, 9.0)}),
    "dynamics": lambda path: test_dynamics.made(path, 0.7, 2.0),
    "goals": lambda path: test_goals.made(
        path, test_goals.IN_TIME | {"cell3": None}, test_goals.EASY | {"cell2": None}
    ),
    "sessions": lambda path: test_sessions.made(path, {0.6: [1.5, *test_sessions.IN_TIME[1:]]}),
    "tuning": lambda path: test_tuning.made(path, {("w0.01", 300): 2.5}),
}


@pytest.mark.parametrize("name", CASES)
def test_a_table_is_judged_as_the_runs_were(name: str, tmp_path: Path):
    found = CASES[name](tmp_path)
    table = tmp_path / "it.csv"
    found.runs.write_csv(table)
    judged = requirements.judge(sweep.load(tmp_path / "mine.toml"), figures.table(table))
    assert list(judged) == list(found.verdicts)
    assert not all(verdict.met for verdict in judged)
    assert all(verdict.measured for verdict in judged)


def test_means_are_judged_where_no_run_is_in_the_table(tmp_path: Path):
    found = CASES["tuning"](tmp_path)
    judged = requirements.judge(sweep.load(tmp_path / "mine.toml"), found.summary)
    assert list(judged) == list(found.verdicts)


def test_a_table_that_lacks_something_has_not_measured_it_unless_what_it_has_fails(tmp_path: Path):
    table, of = CASES["tuning"](tmp_path).runs, sweep.load(tmp_path / "mine.toml")

    def results(rows: pl.DataFrame) -> list[str]:
        verdicts = requirements.judge(of, rows)
        return [("miss", "met")[it.met] if it.measured else "-" for it in verdicts]

    assert results(table) == ["miss", "met", "met"]
    assert results(table.filter(rtt=20)) == ["-", "-", "-"]
    assert results(table.filter(rtt=300)) == ["miss", "-", "-"]
    assert results(table.filter(seed=1)) == ["miss", "-", "-"]
    assert results(table.drop("share_percent")) == ["-", "-", "-"]
    assert results(table.head(0)) == ["-", "-", "-"]


def test_what_was_measured_and_fails_comes_first_and_then_what_is_lacking():
    cases = [
        Case("a", "1", met=True),
        Case("b", "2", met=True, missing=1),
        Case("c", "-", met=False, measured=False),
        Case("d", "9", met=False),
    ]
    verdict = judge("it holds", cases)
    assert verdict.detail == "d: 9; b: 2, 1 run missing; c: -; a: 1"
    assert (verdict.met, verdict.measured) == (False, True)
    assert not judge("it holds", cases[:3]).measured
    assert judge("it holds", cases[:1]).met
    assert not judge("it holds", []).measured


def test_the_repositorys_own_table_is_what_the_others_have():
    assert requirements.check() == []
    rows = figures.table(figures.REPOSITORY / figures.RESULTS / requirements.FILE)
    assert set(rows["result"]) == {"met", "not met", "not measured"}
    assert {it.stem for it in sweep.SWEEPS.glob("goals*.toml")} <= set(rows["study"])
    assert rows.filter(pl.col("table").str.starts_with("goals"))["draw"].null_count() == 0


@pytest.mark.parametrize(("bad", "result"), [(5, "met"), (6, "not met")])
def test_of_simulated_cells_95_of_100_hold_both_bars(tmp_path: Path, bad: int, result: str):
    rows = [
        {
            "name": f"cell{n:02d}",
            "measure": measure,
            "mean": 9.0,
            "met": n >= bad or measure == "harm",
        }
        for n in range(100)
        for measure in ("alone", "harm")
    ]
    verdict = requirements.simulated_cells(pl.DataFrame(rows))
    assert verdict.detail.startswith(f"{100 - bad} of 100 cells; cell00: alone 9; cell01: ")
    assert (verdict.met, verdict.measured) == (result == "met", True)


def test_a_table_that_is_not_what_the_others_have_is_a_fault(tmp_path: Path):
    (tmp_path / figures.RESULTS / "path").mkdir(parents=True)
    (tmp_path / figures.RESULTS / "figures.toml").write_text(
        'given = []\n[modules]\n[commands]\n[without]\n[figures.it]\nwrite = ""\n'
        "sql = 'select * from \"path/bars.csv\"'\n"
    )
    bars = tmp_path / figures.RESULTS / "path/bars.csv"
    row = "1/8 BDP,rate={} disc=tail,harm,3.0,{},{},{},10,{},e2252d7\n"
    head = "name,path,measure,bar,mean,low,high,seeds,met,module\n"
    bars.write_text(head + row.format(10, 2, 1, 3, "true") + row.format(20, 4, 3, 5, "false"))
    fault = "docs/results/requirements.csv: it is not what the tables beside it have"
    assert requirements.check(tmp_path) == [fault]
    assert requirements.check(tmp_path, write=True) == []
    rows = requirements.table(tmp_path).filter(table="path/bars.csv")
    assert rows.select("study", "requirement", "result", "found", "module").rows() == [
        (
            "bars",
            "1/8 BDP: harm at most 3",
            "not met",
            "rate=20: 4 [3, 5]; rate=10: 2 [1, 3]",
            "e2252d7",
        )
    ]
    bars.write_text(bars.read_text().replace(",4,3,5,10,false", ",2,1,3,10,true"))
    figures.table.cache_clear()
    assert requirements.check(tmp_path) == [fault]
