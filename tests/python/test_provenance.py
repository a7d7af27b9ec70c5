# SPDX-License-Identifier: GPL-2.0-only
"""Tables of another module than the one here are found; here in a small repository."""

import dataclasses
import re
import subprocess
from pathlib import Path

import pytest
from dalbe_testbed.plan import sweep
from dalbe_testbed.report import figures, provenance
from dalbe_testbed.run import workflow

FIGURES = """
given = []
[modules]
"old/" = "0123456"
abcdef012345 = "HEAD"
[commands]
"cost/" = "make cost"
[without]
[figures]
"""


def git(root: Path, *words: str) -> str:
    name = ["-c", "user.name=a", "-c", "user.email=a@example.org"]
    done = subprocess.run(["git", "-C", root, *name, *words], capture_output=True, check=True)
    return done.stdout.decode().strip()


@pytest.fixture
def root(tmp_path: Path) -> Path:
    (tmp_path / figures.RESULTS / "old").mkdir(parents=True)
    (tmp_path / figures.RESULTS / "figures.toml").write_text(FIGURES)
    (tmp_path / "core").mkdir()
    git(tmp_path, "init", "-q")
    change(tmp_path, "one")
    return tmp_path


def change(root: Path, text: str) -> str:
    (root / "core/cubic.c").write_text(text)
    git(root, "add", "-A")
    git(root, "commit", "-qm", text)
    return git(root, "rev-parse", "--short=7", "HEAD")


def table(root: Path, name: str, text: str) -> None:
    (root / figures.RESULTS / name).write_text(text)


def said(root: Path) -> list[str]:
    provenance.behind.cache_clear()
    figures.table.cache_clear()
    return [str(origin) for origin in provenance.origins(root)]


def test_a_table_of_another_module_is_older_and_one_of_this_is_not(root: Path) -> None:
    then = git(root, "rev-parse", "--short=7", "HEAD")
    now = change(root, "two")
    table(root, "a.csv", f"x,module\n1,{then}\n2,{now}\n")
    table(root, "b.csv", f"x,commit\n1,{now}\n2,\n")
    assert sorted(said(root)[0].removeprefix("a.csv: ").split("; ")) == sorted(
        [f"{then}: 1 changes since", f"{now}: as here"]
    )
    assert said(root)[1] == f"b.csv: {now}: as here"
    assert [origin.is_of_here for origin in provenance.origins(root)] == [False, True]


def test_a_change_that_is_not_committed_makes_a_table_older(root: Path) -> None:
    table(root, "a.csv", f"module\n{git(root, 'rev-parse', '--short=7', 'HEAD')}\n")
    assert said(root)[0].endswith(": as here")
    (root / "core/cubic.c").write_text("not committed")
    assert said(root)[0].endswith(": 1 changes since")


def test_a_change_of_other_files_does_not(root: Path) -> None:
    table(root, "a.csv", f"module\n{git(root, 'rev-parse', '--short=7', 'HEAD')}\n")
    (root / "README.md").write_text("more")
    git(root, "add", "-A")
    git(root, "commit", "-qm", "words")
    assert said(root)[0].endswith(": as here")


def test_a_module_is_named_beside_a_table_or_for_its_directory(root: Path) -> None:
    table(root, "old/a.csv", "x\n1\n")
    table(root, "a.csv", "x\n1\n")
    assert said(root) == [
        "a.csv: names no module",
        "old/a.csv: 0123456: no commit of this repository",
    ]
    table(root, "runs.csv", "module\n98e7654\n")
    assert said(root)[0] == "a.csv: 98e7654: no commit of this repository"


def test_the_module_here_is_named_by_its_last_change_and_what_is_not_committed(root: Path) -> None:
    now = git(root, "rev-parse", "--short=7", "HEAD")
    (root / "README.md").write_text("more")
    git(root, "add", "-A")
    git(root, "commit", "-qm", "words")
    assert provenance.here(root) == now
    (root / "core/cubic.c").write_text("not committed")
    assert provenance.here(root) == f"{now}-dirty"


SWEEP = """
[draw]
seed = 7
cells = 100
values = {{ "link.rtt_ms" = {{ log = [10, {most}] }} }}
"""


def test_a_draw_that_was_edited_after_its_commit_is_found(root: Path) -> None:
    file = root / "testbed/sweeps/mine.toml"
    file.parent.mkdir(parents=True)
    file.write_text(SWEEP.format(most=300))
    (fault,) = provenance.edited_draws(root)
    assert fault == "testbed/sweeps/mine.toml: commit the draw, alone, before its first run"
    first = change(root, "a draw")
    assert list(provenance.edited_draws(root)) == []
    edited = f"testbed/sweeps/mine.toml: the draw was changed after {first}"
    for text in SWEEP.format(most=299), SWEEP.format(most=300).replace("100", "90"):
        file.write_text(text)
        (fault,) = provenance.edited_draws(root)
        assert fault.startswith(edited)
    change(root, "edited")  # a commit does not hide it
    assert len(list(provenance.edited_draws(root))) == 1
    file.write_text("# words do not count\n" + SWEEP.format(most=300))
    assert list(provenance.edited_draws(root)) == []
    file.write_text(SWEEP.format(most=299).replace("seed = 7", "seed = 8"))
    change(root, "a new seed")
    assert list(provenance.edited_draws(root)) == []


def test_the_repositorys_own_draws_are_those_committed_and_tables_say_how() -> None:
    assert [*provenance.edited_draws(), *provenance.unnamed_draws()] == []
    assert figures.draw("goals4/goals4.csv") == "held out"
    assert figures.draw("five/five.csv") == ""


def test_a_table_of_drawn_cells_has_to_say_whether_they_were_held_out(root: Path) -> None:
    table(root, "goals4.csv", "x\n1\n")
    (fault,) = provenance.unnamed_draws(root)
    assert fault.startswith("goals4.csv: figures.toml's [draws] has to say")
    told = root / figures.RESULTS / "figures.toml"
    told.write_text(told.read_text() + '[draws]\n"goals" = "held out"\n')
    assert list(provenance.unnamed_draws(root)) == []


def test_what_makes_the_quoted_tables_again_is_known() -> None:
    sweeps = provenance.sweeps()
    assert {"demo", "goals2", "goals3", "table1", "tradeoff"} <= set(sweeps)
    runs = sweep.all_runs(map(sweep.load, map(sweep.find, sweeps)))
    assert len(runs) > 5000
    by_hand = dict(provenance.by_hand())
    assert by_hand[Path("cost/acks.csv")] == "make cost"
    assert by_hand[Path("promises/breadth.csv")] == ""  # of another draw than the sweep has


def test_a_dry_run_says_what_is_missing_and_for_how_long(tmp_path: Path) -> None:
    demo = sweep.load(sweep.find("demo:1"))
    made = tmp_path / demo.runs[0].directory
    made.mkdir(parents=True)
    for name in sweep.RESULTS:
        (made / name).touch()
    one, everything = workflow.foretell(tmp_path, [demo])
    assert re.fullmatch(r"demo: 3 of 4 runs to make, 0\.0 h", one)
    assert everything.startswith("all: 3 of 4 runs to make, ")
    fast, slow = demo.runs[0].point.experiment, demo.runs[0]
    link = fast.link.model_copy(update={"rate_mbps": 10 * fast.link.rate_mbps})
    ten = dataclasses.replace(
        slow,
        point=dataclasses.replace(slow.point, experiment=fast.model_copy(update={"link": link})),
    )
    assert workflow.core_s(ten) > 5 * workflow.core_s(slow)
