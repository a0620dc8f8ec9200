"""The commands. Each imports what it needs when it runs, so that `labkit --help` comes at once."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Annotated, Any

import typer

import labkit
from labkit.cli import FAULT
from labkit.cli.options import Json, Png, app, draw, whole
from labkit.errors import UsageError


@app.callback(invoke_without_command=True)
def _labkit(
    context: typer.Context,
    version: Annotated[bool, typer.Option("--version", help="Print the version.")] = False,
) -> int:
    if version:
        print(f"labkit {labkit.__version__}")
        raise typer.Exit
    if context.invoked_subcommand is None:
        print(context.get_help())
    return 0


@app.command()
def lab(
    directory: Annotated[
        Path | None,
        typer.Argument(
            metavar="[DIR]", help="Where the labs are, or are to be put. Files there are never overwritten."
        ),
    ] = None,
    port: Annotated[
        int, typer.Option(parser=whole, metavar="N", help="Port to listen on; the next free one where it is taken.")
    ] = 8888,
    browser: Annotated[
        bool, typer.Option("--browser/--no-browser", help="Open a browser, or print the address.")
    ] = True,
    fork_kernels: Annotated[
        bool,
        typer.Option("--fork-kernels", help="Fork kernels from a parent that has torch loaded: they start at once."),
    ] = False,
) -> int:
    """Open the course in JupyterLab."""
    from labkit.cli.lab import launch

    return launch(directory, port=port, browser=browser, fork_kernels=fork_kernels)


@app.command()
def doctor(as_json: Json = False) -> int:
    """Look at this machine: what it can run, and what to fix. Exit 1 where the labs can't run."""
    from labkit.doctor import examine

    report = examine()
    _say(report, as_json)
    return 0 if report.ready else FAULT


@app.command()
def timeline(
    prepare: Annotated[str, typer.Option(help="Time to prepare a batch; one number, or one for each: 6,6,14.")],
    train: Annotated[str, typer.Option(help="Time to train on a batch; one number, or one for each.")],
    batches: Annotated[
        int | None, typer.Option(parser=whole, metavar="N", help="How many batches, where both times are one number.")
    ] = None,
    depth: Annotated[
        int | None,
        typer.Option(parser=whole, metavar="N", help="Finished batches that may wait; no limit unless given."),
    ] = None,
    workers: Annotated[int, typer.Option(parser=whole, metavar="N", help="Workers that prepare at the same time.")] = 1,
    prefetch_factor: Annotated[
        int | None,
        typer.Option(
            parser=whole, metavar="N", help="Batches under way for each worker, as in DataLoader; in place of --depth."
        ),
    ] = None,
    png: Png = None,
    perfetto: Annotated[Path | None, typer.Option(help="Write a trace for ui.perfetto.dev to this file.")] = None,
    as_json: Json = False,
) -> int:
    """The ideal line: when each batch is ready, and who waits."""
    from labkit.cli.timeline import MOST_BATCHES, as_data, as_text, times
    from labkit.pipeline import simulate

    if batches is not None and batches > MOST_BATCHES:
        raise UsageError(f"batches is {batches}: at most {MOST_BATCHES} here; labkit.pipeline.simulate takes more")
    line = simulate(
        times("prepare", prepare), times("train", train), batches=batches, depth=depth, workers=workers,
        prefetch_factor=prefetch_factor,
    )  # fmt: skip
    said = json.dumps(as_data(line), allow_nan=False) if as_json else as_text(line)
    if perfetto is not None:
        line.to_perfetto(perfetto)
    print(said)
    draw(line, png)
    return 0


@app.command()
def progress(as_json: Json = False) -> int:
    """What you have passed so far, and what comes next."""
    from labkit.checks.registry import exercises
    from labkit.checks.standing import view
    from labkit.course.progress import ProgressStore
    from labkit.course.variants import learner

    store = ProgressStore()
    standings = store.standings(learner())
    for line in store.take_notices():
        print(f"labkit progress: {line}", file=sys.stderr)
    _say(view([(e.lab, e.id, e.title, e.points, e.minutes) for e in exercises()], standings), as_json)
    return 0


@app.command()
def lint(
    paths: Annotated[list[Path], typer.Argument(help="Notebooks, or directories of notebooks.")],
    fix: Annotated[
        bool, typer.Option("--fix", help="First write ids and metadata anew, and take outputs out.")
    ] = False,
) -> int:
    """Check how labs are written. Exit 1 where a rule is broken."""
    from labkit.course import lint as find
    from labkit.course import tidy

    found = 0
    for path in _notebooks(paths):
        for change in tidy(path) if fix else ():
            print(f"{path}: {change}", file=sys.stderr)
        for finding in find(path):
            print(finding)
            found += 1
    return FAULT if found else 0


@app.command()
def check(
    notebook: Annotated[Path, typer.Argument(help="A lab with your answers.")],
    exercise: Annotated[list[str] | None, typer.Option(help="Only this exercise; may be given again.")] = None,
    as_json: Json = False,
) -> int:
    """Run a lab's answers in a fresh copy of the lab. Exit 1 where one is not passed. These are not marks."""
    from labkit.cli.judge import judge

    return judge(notebook, exercise or [], as_json=as_json)


def _say(thing: Any, as_json: bool) -> None:
    print(json.dumps(thing.to_json(), allow_nan=False) if as_json else thing.text())


def _notebooks(paths: list[Path]) -> list[Path]:
    """The notebooks named, and those in the directories named."""
    found = []
    for path in paths:
        inside = sorted(path.glob("*.ipynb")) if path.is_dir() else [path]
        if not inside:
            raise UsageError(f"{path} holds no notebooks: name .ipynb files, or a directory of them")
        found += inside
    return found
