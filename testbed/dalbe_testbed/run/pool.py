# SPDX-License-Identifier: GPL-2.0-only
"""Several runs at once, one guest per core, with their progress on the terminal."""

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console
from rich.progress import BarColumn, Progress, TaskID, TextColumn, TimeElapsedColumn

from dalbe_testbed.plan.experiment import Experiment
from dalbe_testbed.reduce.tables import Run
from dalbe_testbed.run import runner
from dalbe_testbed.run.scenario import Tools


@dataclass(frozen=True)
class Job:
    """One run to be made: name it, give it a seed and a directory of its own."""

    name: str
    experiment: Experiment
    seed: int
    out: Path


def _parallel(jobs: Sequence[Job], tools: Tools) -> int:
    """Return how many of the jobs at once do not disturb each other."""
    clocks = {job.experiment.clock for job in jobs}
    return min((tools.backend.on_clock(clock).parallel() for clock in clocks), default=1)


def run_all(
    jobs: Sequence[Job],
    tools: Tools,
    *,
    workers: int | None,
    console: Console,
    keep_captures: bool,
) -> list[Run]:
    """Run all jobs, `workers` at a time (None: as the backend likes), in the order of the jobs.

    Raises the first TestbedError; runs that have not begun by then are not begun.
    """
    columns = (
        TextColumn("[bold]{task.description}"),
        BarColumn(),
        TextColumn("{task.completed:.0f} of {task.total:.0f} virtual s"),
        TextColumn("{task.fields[stage]:<9}"),
        TimeElapsedColumn(),
    )
    with (
        Progress(*columns, console=console) as display,
        ThreadPoolExecutor(max_workers=workers or _parallel(jobs, tools)) as pool,
    ):

        def one(job: Job, task: TaskID) -> Run:
            display.start_task(task)

            def show(stage: str, t_s: float) -> None:
                display.update(task, stage=stage, completed=t_s)
                if not console.is_terminal and stage != "running":
                    console.print(f"{job.name}, seed {job.seed}: {stage}")

            return runner.run(
                job.experiment,
                job.seed,
                job.out,
                tools,
                name=job.name,
                keep_captures=keep_captures,
                progress=show,
            )

        futures = []
        for job in jobs:
            label, total = f"{job.name}, seed {job.seed}", job.experiment.duration_s
            task = display.add_task(label, total=total, start=False, stage="waiting")
            futures.append(pool.submit(one, job, task))
        try:
            return [future.result() for future in futures]
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            raise
