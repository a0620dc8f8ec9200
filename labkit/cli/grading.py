"""`labkit grade`: submissions to marks."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import typer

from labkit.cli import FAULT, INTERRUPTED
from labkit.cli.options import Json, app, whole
from labkit.errors import UsageError


@app.command()
def grade(
    paths: Annotated[
        list[Path], typer.Argument(help="Folders with a folder a learner, nbgrader's submitted/, or notebooks.")
    ],
    out: Annotated[Path, typer.Option(metavar="DIR", help="Where marks and reports go.")],
    labs: Annotated[
        Path | None, typer.Option(metavar="DIR", help="The released notebooks; those of this labkit unless given.")
    ] = None,
    key: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="File with the course key; else LABKIT_COURSE_KEY, else the public one."),
    ] = None,
    learner: Annotated[
        str | None, typer.Option(metavar="NAME", help="Whose all PATHS are, where their names don't say it.")
    ] = None,
    workers: Annotated[
        int | None, typer.Option(parser=whole, metavar="N", help="Answers judged at once; a core each unless given.")
    ] = None,
    resume: Annotated[
        bool, typer.Option("--resume", help="Go on in --out: marks that would be the same are kept.")
    ] = False,
    since: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Keep the marks of an earlier --out where nothing has changed.")
    ] = None,
    scheduler: Annotated[
        str, typer.Option(metavar="ADDRESS", help="A dask scheduler, such as tcp://host:8786, whose workers judge.")
    ] = "",
    unsafe: Annotated[
        bool, typer.Option("--unsafe", help="Grade even where nothing here can confine an answer.")
    ] = False,
    as_json: Json = False,
) -> int:
    """Grade submissions. Exit 1 where an answer could not be judged, by the grader's own fault."""
    from labkit.cli.places import course_dir
    from labkit.course.variants import PUBLIC_KEY
    from labkit.grading import grade as grading
    from labkit.grading.outputs import write

    if workers is not None and workers < 1:
        raise UsageError(f"--workers is {workers}: give 1 or more")
    secret = course_key(key)
    if secret == PUBLIC_KEY.encode():
        _warn("no course key is set: everybody can compute the figures and the grader's inputs (see docs/grading.md)")
    try:
        with progress_bar() as progress:
            done = grading.grade(
                paths,
                out,
                labs=labs or course_dir(),
                key=secret,
                workers=workers or cores(),
                learner=learner,
                resume=resume,
                since=since,
                scheduler=scheduler,
                unsafe=unsafe,
                progress=progress,
            )
    except KeyboardInterrupt:
        _warn(f"stopped; every mark made so far is kept in {out}: go on with --resume")
        return INTERRUPTED
    written = write(done, out)
    if as_json:
        print(json.dumps(grading.summary(done)))
    else:
        print("\n".join(grading.lines(done)))
        print(f"written to {out}: results.jsonl, {', '.join(written)}")
    return FAULT if done.broken else 0


def course_key(file: Path | None) -> bytes:
    """The key in `file`, without the line end; else the one in force.

    Raises UsageError where the file can't be read, or holds no usable key. The key is never repeated.
    """
    from labkit.course.variants import LONGEST, course_key

    if file is None:
        return course_key()
    try:
        key = file.read_bytes().rstrip(b"\r\n")
    except OSError as error:
        raise UsageError(f"--key {file} can't be read: {(error.strerror or str(error)).lower()}") from None
    if not 0 < len(key) <= LONGEST or min(key) < 32:
        raise UsageError(f"--key {file} must hold one line of 1 to {LONGEST} bytes: the course key")
    return key


def cores() -> int:
    """Cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


@contextmanager
def progress_bar() -> Iterator[Callable[[int, int], None]]:
    """A bar with the time left, on a terminal; nothing anywhere else."""
    from tqdm import tqdm

    bars: list[tqdm[None]] = []

    def progress(done: int, of: int) -> None:
        if not bars:  # what is there already tells nothing about the speed
            bars.append(
                tqdm(total=of, initial=done, unit=" exercises", desc="grading", disable=None, dynamic_ncols=True)
            )
        bars[0].update(done - bars[0].n)

    try:
        yield progress
    finally:
        for bar in bars:
            bar.close()


def _warn(line: str) -> None:
    print(f"labkit grade: {line}", file=sys.stderr)
