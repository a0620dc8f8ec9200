"""`labkit grade`: submissions to marks; `labkit post-marks`: marks to a learning platform."""

from __future__ import annotations

import json
import os
import shutil
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import typer

from labkit.cli import FAULT, INTERRUPTED
from labkit.cli.options import Json, app, whole
from labkit.errors import LabkitError, UsageError

SECRET = 32  # characters of a teacher's key, at least


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
        int | None,
        typer.Option(parser=whole, metavar="N", help="Answers judged at once; three for two cores unless given."),
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
    gradebook: Annotated[
        str, typer.Option(metavar="URL", help="nbgrader's gradebook that gets the marks too: sqlite:///gradebook.db.")
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
    from labkit.grading import gradebook as nbgrader
    from labkit.grading.outputs import CLASS, write

    if workers is not None and workers < 1:
        raise UsageError(f"--workers is {workers}: give 1 or more")
    secret = course_key(key)

    def ready() -> None:
        if gradebook:
            nbgrader.check_gradebook(gradebook)
        if secret == PUBLIC_KEY.encode():
            _warn("no course key is set: everybody can compute figures and the grader's inputs (see docs/grading.md)")

    try:
        with progress_bar() as progress:
            done = grading.grade(
                paths,
                out,
                labs=labs or course_dir(),
                key=secret,
                workers=workers or usual_workers(),
                learner=learner,
                resume=resume,
                since=since,
                scheduler=scheduler,
                unsafe=unsafe,
                progress=progress,
                ready=ready,
            )
    except KeyboardInterrupt:
        _warn(f"stopped; every mark made so far is kept in {out}: go on with --resume")
        return INTERRUPTED
    written = write(done, out)
    if gradebook:
        try:
            nbgrader.write_gradebook(done.marks, gradebook)
        except LabkitError as error:
            raise type(error)(f"{error} (the marks are in {out})") from None
        written.append("nbgrader's gradebook")
    for line in grading.warnings(done, out / CLASS):
        _warn(line)
    if as_json:
        print(json.dumps(grading.summary(done)))
    else:
        print("\n".join(grading.lines(done)))
        print(f"written to {out}: results.jsonl, {', '.join(written)}")
    return FAULT if done.broken else 0


@app.command(name="post-marks")
def post_marks(
    marks: Annotated[Path, typer.Argument(metavar="DIR", help="The --out of a grading.")],
    platform: Annotated[Path, typer.Option(metavar="FILE", help="The platform: JSON, see docs/grading.md.")],
    send: Annotated[bool, typer.Option("--send", help="Send the scores; without it they are only shown.")] = False,
    as_json: Json = False,
) -> int:
    """Show the scores that a learning platform would get (LTI 1.3), or send them. Exit 1 where one was refused."""
    from labkit.grading import journal, lti

    path = marks / journal.NAME
    found, _ = journal.read(path)
    if not found:
        raise UsageError(f"{marks} holds no marks: name the --out of a grading")
    where = lti.read_platform(platform)
    ready, left = lti.addressed(lti.scores(found.values()), where)
    refused = lti.post(ready, where) if send else []
    if as_json:
        payloads = [
            {"lineitem": item} | json.loads(lti.payload(score, user).get_value()) for score, user, item in ready
        ]
        print(json.dumps({"scores": payloads, "sent": send, "refused": refused, "left_out": left}))
    else:
        for score, user, item in ready:
            print(f"{score.learner} ({user}), {score.lab}: {score.given:g} of {score.most:g} -> {item}")
        print(f"{len(ready) - len(refused)} scores sent" if send else f"{len(ready)} scores, not sent: add --send")
    for line in (*left, *refused):
        print(f"labkit post-marks: {line}", file=sys.stderr)
    return FAULT if refused else 0


def course_key(file: Path | None) -> bytes:
    """The key in `file`, without the line end; else the one in force.

    Raises UsageError where the file can't be read, or holds no usable key. The key is never repeated.
    """
    from labkit.course.variants import LONGEST, course_key

    if file is None:
        return _long_enough(course_key(), "LABKIT_COURSE_KEY")
    try:
        key = file.read_bytes().rstrip(b"\r\n")
    except OSError as error:
        raise UsageError(f"--key {file} can't be read: {(error.strerror or str(error)).lower()}") from None
    if not 0 < len(key) <= LONGEST or min(key) < 32:
        raise UsageError(f"--key {file} must hold one line of 1 to {LONGEST} bytes: the course key")
    return _long_enough(key, f"--key {file}")


def _long_enough(key: bytes, name: str) -> bytes:
    """The key, where it isn't a teacher's or has enough behind the word. name: where it was read."""
    from labkit.course.variants import TEACHER

    rest = len(key.decode("utf-8", "replace").removeprefix(TEACHER)) if key.startswith(TEACHER.encode()) else SECRET
    if rest < SECRET:
        raise UsageError(
            f"{name} begins with {TEACHER} but has {rest} characters after it: give {SECRET} or more, or drop the word"
        )
    return key


def usual_workers() -> int:
    """Three for two cores: a good part of judging is waiting, for loaders, ranks and processes."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return -(-3 * cores // 2)


@contextmanager
def progress_bar() -> Iterator[Callable[[int, int], None]]:
    """A bar with the time left, on a terminal; nothing anywhere else."""
    from tqdm import tqdm

    bars: list[tqdm[None]] = []
    columns, lines = shutil.get_terminal_size()  # 80 and 24 where a terminal says 0, which would leave the bar out

    def progress(done: int, of: int) -> None:
        if not bars:  # what is there already tells nothing about the speed
            bars.append(
                tqdm(
                    total=of, initial=done, unit=" exercises", desc="grading", disable=None, ncols=columns, nrows=lines
                )
            )
        bars[0].update(done - bars[0].n)

    try:
        yield progress
    finally:
        for bar in bars:
            bar.close()


def _warn(line: str) -> None:
    print(f"labkit grade: {line}", file=sys.stderr)
