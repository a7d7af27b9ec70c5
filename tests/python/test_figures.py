# SPDX-License-Identifier: GPL-2.0-only
"""Figures in documents are those of their tables; here a repository of one document and table."""

import re
from pathlib import Path

import pytest
from dalbe_testbed.report import figures

FIGURES = """
given = ['\\d+ Mbit/s']
[modules]
[commands]
[without]
"README.md" = 0
[figures.done]
sql = "select median(s) as s, count(*) as n from \\"runs.csv\\" where who = '{0}'"
write = { median = "{s:.1f} s", runs = "{n}" }
[figures.rows]
sql = 'select who, s from "runs.csv" order by who, s'
write = "| {who} | {s} |"
"""
DOCUMENT = "At 9 Mbit/s <!--done.median:us-->2.5 s<!--/--> (<!--done.runs:us-->2<!--/--> runs).\n"
TABLE = "who,s,module\nus,2,52e8127\nus,3,52e8127\nthem,,\n"


@pytest.fixture
def root(tmp_path: Path) -> Path:
    (tmp_path / figures.RESULTS).mkdir(parents=True)
    (tmp_path / figures.RESULTS / "figures.toml").write_text(FIGURES)
    (tmp_path / figures.RESULTS / "runs.csv").write_text(TABLE)
    (tmp_path / "README.md").write_text(DOCUMENT)
    return tmp_path


def wrong(root: Path, text: str = "") -> list[str]:
    if text:
        (root / "README.md").write_text(text)
    return figures.check(root)


def test_the_repositorys_own_figures_are_their_tables() -> None:
    assert figures.check() == []


def test_a_document_as_its_tables_has_no_fault(root: Path) -> None:
    assert wrong(root) == []


def test_a_figure_that_was_changed_by_hand_is_found_and_mended(root: Path) -> None:
    text = "\n" + DOCUMENT.replace("2.5 s", "2.4 s")
    assert wrong(root, text) == ["README.md:2: done.median:us: '2.4 s', the table has '2.5 s'"]
    assert figures.check(root, write=True) == []
    assert (root / "README.md").read_text() == "\n" + DOCUMENT


def test_a_table_that_was_changed_is_found(root: Path) -> None:
    (root / figures.RESULTS / "runs.csv").write_text(TABLE.replace("us,3", "us,4"))
    assert wrong(root) == ["README.md:1: done.median:us: '2.5 s', the table has '3.0 s'"]


def test_a_document_may_set_a_figure_in_bold_and_break_its_line(root: Path) -> None:
    assert wrong(root, DOCUMENT.replace("2.5 s", "**2.5**\ns")) == []


def test_rows_are_lines_and_what_is_missing_is_a_dash(root: Path) -> None:
    text = "<!--rows-->\n| a | b |\n|---|---|\n<!--/-->\n"
    (root / "README.md").write_text(text)
    assert figures.check(root, write=True) == []
    rows = "| them | - |\n| us | 2 |\n| us | 3 |"
    assert (root / "README.md").read_text() == f"<!--rows-->\n{rows}\n<!--/-->\n"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("a <!--nothing-->1<!--/-->", "nothing: figures.toml has no such figure"),
        ("a <!--done.median-->1<!--/-->", "done.median: .*index 0 out of range"),
        ("a <!--done:us-->1<!--/-->", "done:us: a name behind a dot"),
        ("a <!--done.mean:us-->1<!--/-->", "done.mean:us: KeyError: 'mean'"),
        ("- <!--done.runs:us-->2<!--/--> runs", "README.md:1: a marker begins the line"),
        ("  <!--given-->9 s<!--/given--> on", "README.md:1: a marker begins the line"),
    ],
)
def test_a_marker_that_cannot_be_filled_in_or_hides_its_line_is_a_fault(
    root: Path, text: str, said: str
) -> None:
    found = wrong(root, text)[0]
    assert re.search(said, found), found


def test_a_figure_with_neither_table_nor_mark_is_counted(root: Path) -> None:
    (found,) = wrong(root, DOCUMENT + "It takes 7 s or 3 to 4 % on 5 of 6 links.\n")
    assert found.startswith("README.md: 3 figures have no table")
    assert found.endswith("7 s, 3 to 4 %, 5 of 6")
    aside = "It takes <!--given-->7 s<!--/given-->, <!--not-kept-->3 %<!--/not-kept-->, `5 s`.\n"
    assert wrong(root, DOCUMENT + aside + "\n    sleep 5 s\n") == []


def test_a_table_that_nobody_quotes_is_found(root: Path) -> None:
    other = root / figures.RESULTS / "more/other.csv"
    other.parent.mkdir()
    other.write_text("a\n1\n")
    assert wrong(root) == ["docs/results/more/other.csv: no document quotes it"]
    assert wrong(root, f"{DOCUMENT}[table](docs/results/more/other.csv)\n") == []
    assert wrong(root, f"{DOCUMENT}[tables](docs/results/more)\n") == []
    other.unlink()
    lost = "docs/results/more/other.csv: a document quotes it, and it is not there"
    assert wrong(root, f"{DOCUMENT}[table](docs/results/more/other.csv)\n") == [lost]


def test_a_hash_of_digits_and_an_e_stays_a_hash(root: Path) -> None:
    assert figures.table(root / figures.RESULTS / "runs.csv")["module"].to_list()[0] == "52e8127"
