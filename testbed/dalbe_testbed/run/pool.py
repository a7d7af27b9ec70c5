# SPDX-License-Identifier: GPL-2.0-only
"""Several seeds at once, one guest per core, with their progress on the terminal."""

from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

from dalbe_testbed.plan.experiment import Experiment
from dalbe_testbed.reduce.tables import Run
from dalbe_testbed.run import runner
from dalbe_testbed.run.scenario import Tools


def run_all(
    what: Experiment,
    name: str,
    places: Mapping[int, Path],
    tools: Tools,
    *,
    workers: int | None,
    console: Console,
    keep_captures: bool,
) -> list[Run]:
    """Run an experiment with some seeds, each into a directory, in the order of the seeds.

    workers: how many at once; None: as many as do not disturb each other. Raises the first
    TestbedError; runs that have not begun by then are not begun.
    """
    columns = (
        TextColumn("[bold]{task.description}"),
        BarColumn(),
        TextColumn("{task.completed:.0f} of {task.total:.0f} virtual s"),
        TextColumn("{task.fields[stage]:<9}"),
        TimeElapsedColumn(),
    )
    workers = workers or tools.backend.on_clock(what.clock).parallel()
    with Progress(*columns, console=console) as display, ThreadPoolExecutor(workers) as pool:

        def one(seed: int, out: Path) -> Run:
            label = f"{name}, seed {seed}"
            task = display.add_task(label, total=what.duration_s, stage="waiting")

            def show(stage: str, t_s: float) -> None:
                display.update(task, stage=stage, completed=t_s)
                if not console.is_terminal and stage != "running":
                    console.print(f"{label}: {stage}")

            return runner.run(
                what, seed, out, tools, name=name, keep_captures=keep_captures, progress=show
            )

        futures = [pool.submit(one, *place) for place in places.items()]
        try:
            return [future.result() for future in futures]
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            raise
