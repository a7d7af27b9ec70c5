# SPDX-License-Identifier: GPL-2.0-only
"""From run directories to findings, verdicts and the report, with shares that are known."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path

import polars as pl
import pytest
from dalbe_testbed import cli
from dalbe_testbed.errors import TestbedError
from dalbe_testbed.papers import cdg as paper
from dalbe_testbed.plan import sweep
from dalbe_testbed.plan.sweep import Run
from dalbe_testbed.report import html
from dalbe_testbed.study import cdg, declarations, results
from dalbe_testbed.study.engine import Finding
from dalbe_testbed.study.results import Results
from dalbe_testbed.study.stats import Estimate
from fakeruns import Site, four_flows, write_run, write_runs
from pictures import drawn, points, values
from typer.testing import CliRunner

HEADER = 'title = "Both modules"\nexperiment = "cell.toml"\nfigure = "{figure}"\nseeds = 2\n'
CURVE = HEADER.format(figure="figure3") + (
    '[[grid]]\ncc = ["cdg", "dalbe_cdg"]\ng = [0.1, 2, 120]\nrtt = [50]\n'
)
BUFFER = HEADER.format(figure="ablation") + (
    'vary = "buffer"\n[[grid]]\ncc = ["cdg"]\ng = [2, 120]\nrtt = [50]\nbuffer = [1, 4]\n'
)
BACKEND = HEADER.format(figure="ablation") + (
    'vary = "backend"\n[[grid]]\ncc = ["cdg"]\ng = [2]\nrtt = [50]\nbackend = ["uml", "qemu"]\n'
)
PNG = b"\x89PNG"
SHARES = {0.1: 13.0, 2.0: 24.0, 120.0: 49.0}


def as_in_the_paper(_module: str, g: float, _rtt: float, seed: int) -> float:
    return SHARES[g] + 0.2 * seed


class Case:
    """Some sweeps and a directory to put their runs in."""

    def __init__(self, tmp_path: Path, *texts: str) -> None:
        self.out = tmp_path / "out"
        self.files = []
        for number, text in enumerate(texts):
            self.files.append(tmp_path / f"sweep{number}.toml")
            self.files[-1].write_text(text)
        self.sweeps = [sweep.load(path) for path in self.files]
        self.runs = sweep.all_runs(self.sweeps)

    def run(self, name: str) -> Run:
        return next(run for run in self.runs.values() if run.directory.endswith(name))

    def results(self) -> Results:
        return results.collect(self.out, self.sweeps, self.runs)

    def findings(self) -> dict[str, Finding]:
        return dict(declarations.findings(self.results()))

    def verdicts(self) -> dict[str, bool]:
        return {v.requirement: v.met for v in html.verdicts(self.results(), self.findings())}

    def detail(self, requirement: str) -> str:
        """Return what is said about the only requirement that begins so."""
        found = html.verdicts(self.results(), self.findings())
        (verdict,) = (v for v in found if v.requirement.startswith(requirement))
        return verdict.detail

    def write(self) -> Path:
        runs = list(self.runs.values())
        return html.write(self.results(), self.findings(), runs, self.out / "report")


@pytest.fixture
def curve(tmp_path: Path) -> Case:
    case = Case(tmp_path, CURVE)
    write_runs(case.out, list(case.runs.values()), as_in_the_paper)
    return case


@pytest.mark.parametrize(("name", "met"), [("cdg-g2-rtt50", True), ("dalbe_cdg-g2-rtt50", False)])
def test_runs_of_another_module_are_noticed(curve: Case, name: str, met: bool):
    path = curve.out / curve.run(f"/{name}/seed1").directory / "manifest.json"
    path.write_text(path.read_text().replace("0123456789abcdef", "fedcba9876543210"))
    assert curve.verdicts()["no kernel had two versions of the module"] is met


def test_the_papers_values_are_all_there():
    bounds = [bound for bounds in paper.stated("Table I").values() for bound in bounds]
    assert len(bounds) == 14
    assert sum(bound.which == "min" for bound in bounds) == 7
    assert {value.which: value.percent for value in paper.stated("Figure 2")[2, 50]}["cdg1"] == 12
    assert paper.Value("", "both", 120, 50, 49).allowed == pytest.approx(9.8)


def test_no_silent_flow_is_near_enough_to_the_paper():
    for (value,) in paper.stated("Table I").values():
        assert value.allowed < value.percent / 2, value


def test_a_share_is_of_the_second_half_at_the_sender(curve: Case):
    run = curve.run("/cdg-g2-rtt50/seed1")
    directory = curve.out / run.directory
    rates = pl.read_parquet(directory / "rates.parquet")
    first_half = pl.col("t_s") < run.point.experiment.duration_s / 2
    rates.with_columns(
        pl.when(first_half).then(10**6).otherwise(pl.col("sent_bytes")).alias("sent_bytes")
    ).write_parquet(directory / "rates.parquet")
    row = curve.results().runs.filter(point="cdg-g2-rtt50", seed=1).to_dicts()[0]
    assert row["both_percent"] == pytest.approx(24.2, abs=0.01)
    assert row["one_percent"] == pytest.approx(12.1, abs=0.01)
    assert row["cubic1_percent"] == pytest.approx(32.9, abs=0.01)
    assert (row["g_ms"], row["effective_g_ms"], row["kernel_release"]) == (2, 2.016, "6.12.0-fake")
    assert row["module"] == "0123456789ab"
    manifest = directory / "manifest.json"
    manifest.write_text(json.dumps(json.loads(manifest.read_text()) | {"module_commit": "1ec0de5"}))
    row = curve.results().runs.filter(point="cdg-g2-rtt50", seed=1).to_dicts()[0]
    assert row["module"] == "1ec0de5"


def test_everything_as_in_the_paper_meets_everything(curve: Case):
    assert curve.verdicts() == {
        "all 12 runs are there": True,
        "no kernel had two versions of the module": True,
        "Table I, within 20%": True,
        "the share rises with G: no inversion beyond the intervals": True,
    }
    assert curve.detail("Table I").count("; ") == 3
    assert curve.detail("Table I").startswith("min, in-tree cdg, 50 ms, 6.7 +- 1.3: 6.7 [")
    said = "in-tree cdg, 50 ms: 3 points; dalbe_cdg, 50 ms: 3 points"
    assert curve.detail("the share rises") == said


@pytest.mark.parametrize(
    ("both", "met"), [(39.3, True), (39.1, False), (58.7, True), (58.9, False)]
)
def test_table_1_is_met_within_a_fifth(curve: Case, both: float, met: bool):
    for seed in (1, 2):
        run = curve.run(f"/cdg-g120-rtt50/seed{seed}")
        write_run(curve.out / run.directory, run.point.experiment, seed, four_flows(both))
    assert curve.verdicts()["Table I, within 20%"] is met
    assert curve.detail("Table I").startswith("max, in-tree cdg, 50 ms, 49 +- 9.8") is not met
    rows = curve.findings()["sweep0"].summary.filter(point="cdg-g120-rtt50")
    assert rows.select("stated", "paper_percent", "met").row(0) == ("Table I, max", 49, met)


def test_a_fall_over_g_is_an_inversion(curve: Case):
    for seed in (1, 2):
        run = curve.run(f"/dalbe_cdg-g2-rtt50/seed{seed}")
        flows = four_flows(60 + 0.01 * seed)
        write_run(curve.out / run.directory, run.point.experiment, seed, flows)
    for seed in (1, 2):
        run = curve.run(f"/dalbe_cdg-g120-rtt50/seed{seed}")
        flows = four_flows(50 + 0.01 * seed)
        write_run(curve.out / run.directory, run.point.experiment, seed, flows)
    verdicts = curve.verdicts()
    assert not next(met for name, met in verdicts.items() if "rises with G" in name)
    said = curve.detail("the share rises with G")
    assert re.match(r"dalbe_cdg, 50 ms: 60.0 \[.*\] at G = 2 ms, 50.0 \[.*\] at 120 ms; in", said)
    assert said.endswith("in-tree cdg, 50 ms: 3 points")


@pytest.mark.parametrize(
    ("damage", "why"),
    [
        (lambda d: (d / "rates.parquet").unlink(), "not run, or killed"),
        (lambda d: (d / "rates.parquet").write_bytes(b"PAR1"), "damaged"),
        (lambda d: (d / "manifest.json").write_text("{"), "damaged"),
        (lambda d: (d / "manifest.json").write_text("{}"), "damaged"),
        (
            lambda d: (d / "manifest.json").write_text(
                (d / "manifest.json").read_text().replace('"seed": 1', '"seed": 7')
            ),
            "another experiment or seed",
        ),
        (
            lambda d: (d / "manifest.json").write_text(
                (d / "manifest.json").read_text().replace('"rtt_ms": 50', '"rtt_ms": 51')
            ),
            "another experiment or seed",
        ),
        (
            lambda d: pl.DataFrame({"t_s": [0.0], "flow": ["x"]}).write_parquet(
                d / "rates.parquet"
            ),
            "lacks sent_bytes",
        ),
        (
            lambda d: (
                pl.read_parquet(d / "rates.parquet")
                .filter(pl.col("t_s") < 200)
                .write_parquet(d / "rates.parquet")
            ),
            "does not cover the second half",
        ),
        (
            lambda d: (
                pl.read_parquet(d / "rates.parquet")
                .filter(pl.col("flow") != "cubic2")
                .write_parquet(d / "rates.parquet")
            ),
            "does not cover the second half",
        ),
    ],
)
def test_a_run_that_cannot_be_used_is_named(curve: Case, damage, why: str):
    run = curve.run("/cdg-g2-rtt50/seed1")
    damage(curve.out / run.directory)
    found = curve.results()
    assert why in found.missing[run.directory]
    assert found.runs.height == len(curve.runs) - 1
    assert not curve.verdicts()["all 12 runs are there"]


def test_no_run_at_all_is_an_error(tmp_path: Path):
    with pytest.raises(TestbedError, match="none of 12 runs is there"):
        Case(tmp_path, CURVE).results()


def test_a_curve_that_lacks_a_point_rises_no_more(curve: Case):
    for seed in (1, 2):
        (curve.out / curve.run(f"/cdg-g2-rtt50/seed{seed}").directory / "rates.parquet").unlink()
    assert not curve.verdicts()["the share rises with G: no inversion beyond the intervals"]
    assert "2 runs missing" in curve.detail("the share rises with G")


def test_a_backend_that_lacks_a_run_does_not_agree(tmp_path: Path):
    case = Case(tmp_path, BACKEND)
    for run in case.runs.values():
        if run.point.values["backend"] == "uml" or run.seed > 1:
            flows = four_flows(24 + 0.3 * run.seed)
            write_run(case.out / run.directory, run.point.experiment, run.seed, flows)
    assert not case.verdicts()["another backend agrees within the spread"]
    assert "1 run missing" in case.detail("another backend")


def test_a_point_without_runs_fails_what_needs_it(curve: Case):
    for seed in (1, 2):
        run = curve.run(f"/cdg-g120-rtt50/seed{seed}")
        (curve.out / run.directory / "rates.parquet").unlink()
    assert not curve.verdicts()["Table I, within 20%"]
    assert curve.detail("Table I").startswith("max, in-tree cdg, 50 ms, 49 +- 9.8: no run; ")


def test_single_runs_have_no_intervals_and_so_no_verdict(tmp_path: Path):
    case = Case(tmp_path, CURVE.replace("seeds = 2", "seeds = 1"))
    write_runs(case.out, list(case.runs.values()), as_in_the_paper)
    verdicts = case.verdicts()
    assert not any(met for name, met in verdicts.items() if "rises with G" in name)
    assert case.write().is_file()


def test_the_largest_effect_is_named(tmp_path: Path):
    case = Case(tmp_path, BUFFER)
    for run in case.runs.values():
        deep = run.point.values["buffer"] == 4
        g = float(run.point.values["g"])
        both = SHARES[g] * (0.5 if deep else 1) + 0.1 * run.seed
        write_run(case.out / run.directory, run.point.experiment, run.seed, four_flows(both))
    finding = case.findings()["sweep0"]
    changes = finding.summary.filter(value="4").sort("g_ms")["change_points"]
    assert [round(change, 1) for change in changes] == [-12.0, -24.5]
    assert finding.summary.filter(value="1")["change_points"].null_count() == 2
    said = "Largest effect: a buffer of 4 BDP instead of 1: -24.5 [-24.8, -24.2] points at G = 120"
    assert finding.sentence.startswith(said)


@pytest.mark.parametrize(("shift", "met"), [(0.1, True), (3.0, False)])
def test_backends_agree_within_the_spread(tmp_path: Path, shift: float, met: bool):
    case = Case(tmp_path, BACKEND)
    for run in case.runs.values():
        both = 24 + 0.3 * run.seed + shift * (run.point.values["backend"] == "qemu")
        write_run(case.out / run.directory, run.point.experiment, run.seed, four_flows(both))
    assert case.verdicts()["another backend agrees within the spread"] is met
    assert case.detail("another backend").startswith("backend qemu instead of uml")


def test_a_cause_is_one_that_was_measured(tmp_path: Path):
    ours = Estimate(20, 19, 21, 5)
    value = paper.Value("Table I, max", "both", 2, 50, 25)
    point = Case(tmp_path, BACKEND.replace("backend", "hz").replace('"uml", "qemu"', "100, 250"))
    (hz250,) = (p for p in point.sweeps[0].points if p.values["hz"] == 250)

    def effect(change: float, axis: str = "hz") -> cdg.Effect:
        estimate = Estimate(change, change - 0.5, change + 0.5, 5)
        varied = replace(hz250, values=hz250.values | {axis: 250})
        return cdg.Effect(varied, axis, estimate, agrees=False, missing=0)

    assert "HZ 250 moves both flows' share by +2.0" in cdg.likely_cause(ours, value, [effect(2)])
    assert "not hz as tested" in cdg.likely_cause(ours, value, [effect(-2)])
    assert "kernel 4.2" in cdg.likely_cause(ours, value, [effect(2, "buffer")])
    near = paper.Value("Table I, max", "both", 2, 50, 20.5)
    assert "inside the interval" in cdg.likely_cause(ours, near, [])


def test_the_report_is_complete_and_needs_no_network(tmp_path: Path):
    others = [CURVE.replace("figure3", figure) for figure in ("figure2", "table1")]
    case = Case(tmp_path, CURVE, BUFFER, *others)
    write_runs(case.out, list(case.runs.values()), as_in_the_paper)
    broken = case.run("/dalbe_cdg-g2-rtt50/seed2")
    (case.out / broken.directory / "rates.parquet").unlink()
    (case.out / broken.directory / "error").write_text("dalbe-testbed: the guest <hangs>\n")
    index = case.write()
    text = index.read_text()
    pictures = re.findall(r'<img src="([^"]+)"', text)
    assert len(pictures) == 4  # Figure 3, an ablation, Figure 2, Table I
    assert all((index.parent / name).read_bytes().startswith(PNG) for name in pictures)
    assert not re.search(r"(src|href)=[\"']?(https?:)?//", text)
    assert "the guest &lt;hangs&gt;" in text
    assert broken.directory in text
    assert "--seed 1 --set flows.cdg1.cc=cdg" in text
    assert "6.12.0-fake" in text
    runs = pl.read_csv(index.parent / "runs.csv")
    assert runs.height == len(case.runs) - 1
    tables = {n: pl.read_csv(index.parent / f"sweep{n}-summary.csv") for n in range(4)}
    assert [tables[n].height for n in range(4)] == [6, 4, 2 * (4 + 4 + 1), 6]
    assert tables[3]["stated"].drop_nulls().len() == 4
    assert set(tables[2]["stated"].drop_nulls()) == {f"Figure 2, {f}" for f in four_flows(1)}
    assert pl.read_csv(index.parent / "sweep0.csv").height == 11
    assert "The paper&#39;s testbed" in text or "The paper's testbed" in text
    assert "open: kernel 4.2" in text


def test_the_papers_pictures_are_of_the_tables(tmp_path: Path):
    others = [CURVE.replace("figure3", figure) for figure in ("figure2", "table1")]
    case = Case(tmp_path, CURVE, BUFFER, *others)
    write_runs(case.out, list(case.runs.values()), as_in_the_paper)
    found = {it.figure: case.findings()[it.name] for it in case.sweeps}
    charts = {name: declarations.study(name).draw(it) for name, it in found.items()}

    def same(figure: str, mark: str, x: str, y: str, table: pl.DataFrame | None = None) -> bool:
        """Whether a picture draws two columns of a table, by default its summary."""
        table = found[figure].summary if table is None else table
        return points(charts[figure], mark, x, y) == values(table, x, y)

    for mark in ("point", "line"):
        assert same("figure3", mark, "g_ms", "both_percent")
    stated = sorted(2 * [(0.1, 13.4), (2, 24), (120, 49)])
    assert points(charts["figure3"], "point", "g_ms", "paper_percent") == stated
    assert same("figure2", "line", "t_s", "percent", found["figure2"].curves)
    assert same("ablation", "point", "g_ms", "both_percent")
    table = found["table1"].summary.drop_nulls("stated")
    for name in ("ours_percent", "of_tcp_percent", "paper_percent"):
        assert same("table1", "point", "rtt_ms", name, table)
    (bars,) = (it for it in drawn(charts["table1"]) if it.mark == "bar")
    ends = {(round(row[bars.at["y"]], 2), round(row[bars.at["y2"]], 2)) for row in bars.rows}
    assert ends == {(5.36, 8.04), (39.2, 58.8)}


BREADTH = (sweep.SWEEPS / "breadth.toml").read_text().replace("cells = 100", "cells = 2")


def test_a_scavengers_report_has_its_verdicts_tables_and_picture(tmp_path: Path):
    site = Site(tmp_path, BREADTH)
    for run in site.runs:
        site.write(run, {"ours": 9.0}, {"ours": 0.1, "other1": 9.9}, queue_ms=3)
    words = ["report", str(tmp_path / "mine.toml"), "--out", str(site.out), "--check"]
    result = CliRunner().invoke(cli.sweep_app, words)
    assert result.exit_code == 0, result.output
    assert "3 of 3 requirements are met" in result.output
    report = site.out / "report"
    text = (report / "index.html").read_text()
    assert "<h1>Breadth: 100 cells drawn at random</h1>" in text
    assert "in 95 % of the cells" in text
    assert pl.read_csv(report / "mine.csv").height == 18
    summary = pl.read_csv(report / "mine-summary.csv")
    assert summary["cell"].to_list() == ["cell1", "cell2"]
    for value in summary.row(0, named=True)["link.rtt_ms"], "100 [100, 100]", "bdp_packets":
        assert str(value) in text
    assert (report / "mine.png").read_bytes().startswith(PNG)


def test_a_scavengers_requirement_fails_the_check(tmp_path: Path):
    site = Site(tmp_path, BREADTH)
    for run in site.runs:
        others = 9.0 if "nobody" in run.point.name else 8.0
        site.write(run, {"ours": 9.0}, {"ours": 1.0, "other1": others})
    words = ["report", str(tmp_path / "mine.toml"), "--out", str(site.out), "--check"]
    result = CliRunner().invoke(cli.sweep_app, words)
    assert isinstance(result.exception, TestbedError)
    assert "not met: alone at least 95 % of CUBIC alone and harm at most 3 %" in result.output
    assert '<tr class="bad"><td>cell1' in (site.out / "report/index.html").read_text()


def test_check_fails_where_a_requirement_is_not_met(curve: Case):
    words = ["report", str(curve.files[0]), "--out", str(curve.out), "--check"]
    assert CliRunner().invoke(cli.sweep_app, words).exit_code == 0
    run = curve.run("/cdg-g2-rtt50/seed1")
    (curve.out / run.directory / "manifest.json").unlink()
    result = CliRunner().invoke(cli.sweep_app, words)
    assert isinstance(result.exception, TestbedError)
    assert "not met: all 12 runs are there" in result.output


@pytest.mark.parametrize(
    ("figures", "title"),
    [
        (["figure3", "ablation"], "The CDG paper, reproduced"),
        (["figure3", "tuning"], "The CDG paper, reproduced"),
        (["none"], "sweep 0"),
        (["tuning"], "sweep 0"),
        (["tuning", "voice", "none"], "Requirements of a scavenger"),
        (["tuning", "goals"], "Requirements of a scavenger"),
        (["deadline", "goals", "sessions", "scoreboard"], "Do deadlines hold?"),
    ],
)
def test_a_report_is_called_by_what_it_is_of(tmp_path: Path, figures: list[str], title: str):
    texts = []
    for number, figure in enumerate(figures):
        line = "" if figure == "none" else f'figure = "{figure}"\n'
        line += 'vary = "buffer"\n' if figure == "ablation" else ""
        texts.append(
            f'title = "sweep {number}"\nexperiment = "cell.toml"\nseeds = 1\n{line}'
            f'[[grid]]\ncc = ["cdg"]\ng = [2]\nrtt = [50]\nbuffer = [1, {number + 2}]\n'
        )
    case = Case(tmp_path, *texts)
    write_runs(case.out, list(case.runs.values()), as_in_the_paper)
    assert html._title(case.results()) == title
