# SPDX-License-Identifier: GPL-2.0-only
"""A report's tables take the place of those in docs/results, unless something would be lost."""

from __future__ import annotations

import json
from pathlib import Path

import polars as pl
import pytest
from dalbe_testbed import cli
from dalbe_testbed.plan import sweep
from dalbe_testbed.report import figures, html, provenance, publish
from dalbe_testbed.study import declarations
from dalbe_testbed.study.results import collect
from fakeruns import Site
from test_tuning import SHARES, TWO_RTTS
from typer.testing import CliRunner

FIGURES = """
given = []
[modules]
[commands]
[without]
[figures.it]
write = ""
sql = 'select * from {}'
"""
KEPT = ("a/mine.csv", "a/mine-summary.csv", "b/mine.csv")


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A repository that keeps two tables of a sweep, and a picture, of runs of module 1111111."""
    where = tmp_path / figures.RESULTS
    (where / "a").mkdir(parents=True)
    (where / "b").mkdir()
    tables = " ".join(f'"{name}"' for name in KEPT)
    (where / "figures.toml").write_text(FIGURES.format(tables))
    (where / "a/mine.csv").write_text("point,seed,share_percent,module\nold,1,5.0,1111111\n")
    (where / "a/mine-summary.csv").write_text("point,runs\nold,1\n")
    (where / "b/mine.csv").write_text("point,seed,by_hand\nold,1,7\n")
    (where / "a/mine.png").write_bytes(b"old")
    (where / "a/runs.csv").write_text("point,seed,module\nold,1,1111111\n")
    (tmp_path / "README.md").write_text("[a](docs/results/a), [b](docs/results/b/mine.csv)\n")
    monkeypatch.setattr(provenance, "SWEEPS", tmp_path)
    figures.table.cache_clear()
    return tmp_path


def runs(root: Path, *, module: str = "2222222", lost: str = "", other: str = "") -> Site:
    """Write the runs; of one point none, or by another module."""
    site = Site(root, TWO_RTTS)
    for run in site.runs:
        if run.point.name != lost:
            share = SHARES[str(run.point.values["who"])]
            site.write(run, {}, {"ours1": share / 10, "cubic2": 10 - share / 10})
            manifest = site.out / run.directory / "manifest.json"
            made = json.loads(manifest.read_text())
            made["module_commit"] = "3333333" if run.point.name == other else module
            manifest.write_text(json.dumps(made))
    return site


def published(root: Path, site: Site) -> list[str]:
    found = site.results()
    report = site.out / "report"
    html.write(found, declarations.findings(found), site.runs, report)
    return list(publish.publish(found, report, root))


def kept(root: Path, name: str) -> pl.DataFrame:
    return pl.read_csv(root / figures.RESULTS / name, schema_overrides={"module": pl.String})


def test_tables_pictures_and_runs_are_copied_and_name_their_module(root: Path):
    site = runs(root)
    assert published(root, site) == [
        "copied: a/mine-summary.csv",
        "copied: a/mine.csv",
        "not copied: b/mine.csv: the sweep makes no column by_hand",
    ]
    assert set(kept(root, "a/mine.csv")["module"]) == {"2222222"}
    assert kept(root, "a/mine.csv").height == len(site.runs)
    assert kept(root, "a/mine-summary.csv").height == len(site.sweep.points)
    assert (root / figures.RESULTS / "a/mine.png").read_bytes().startswith(b"\x89PNG")
    assert kept(root, "a/runs.csv").height == len(site.runs)
    assert set(kept(root, "a/runs.csv")["module"]) == {"2222222"}
    assert kept(root, "b/mine.csv").rows() == [("old", 1, 7)]


def test_a_sweep_that_lacks_runs_or_is_of_two_modules_is_not_copied(root: Path):
    assert published(root, runs(root, lost="rtt20")) == [
        "not copied: mine: 2 of 16 runs are missing"
    ]
    assert published(root, runs(root, other="rtt20")) == [
        "not copied: mine: of several modules: 2222222, 3333333"
    ]
    assert kept(root, "a/mine.csv").rows() == [("old", 1, 5.0, "1111111")]


def test_a_sweep_without_its_peers_is_not_copied(root: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.delenv(sweep.PEERS, raising=False)
    site = runs(root)
    of = sweep.load(sweep.find("ledbat10:1"))
    assert of.left_out
    named = [sweep.replace(site.sweep, left_out=of.left_out)]
    found = collect(site.out, named, sweep.all_runs(named))
    (line,) = publish.publish(found, site.out / "report", root)
    assert line.startswith("not copied: mine: without DALBE_PEERS it leaves out ")


def test_each_sweep_has_its_own_runs_where_cells_of_two_draws_have_one_name(root: Path):
    text = (sweep.SWEEPS / "breadth.toml").read_text().replace("cells = 100", "cells = 1")
    sweeps = []
    for name, seed in ("mine", "1"), ("other", "2"):
        (root / f"{name}.toml").write_text(text.replace("seed = 20261127", f"seed = {seed}"))
        sweeps.append(sweep.load(root / f"{name}.toml"))
    site = Site(root, (root / "mine.toml").read_text())
    for run in sweep.all_runs(sweeps).values():
        site.write(run, {"ours": 9.0}, {"ours": 0.1, "other1": 9.9})
    found = collect(site.out, sweeps, sweep.all_runs(sweeps))
    assert found.runs.height == 18
    assert publish.own(found, sweeps[:1])["rtt_ms"].to_list() == [
        run.point.experiment.link.rtt_ms for run in sweeps[0].runs
    ]


def test_the_command_copies_what_it_reports(root: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(publish.publish, "__defaults__", (root,))
    site = runs(root)
    words = ["report", str(root / "mine.toml"), "--out", str(site.out), "--publish"]
    result = CliRunner().invoke(cli.sweep_app, words)
    assert result.exit_code == 0, result.output
    assert "copied: a/mine.csv" in result.output
    assert kept(root, "a/mine.csv").height == len(site.runs)
