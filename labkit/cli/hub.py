"""`labkit hub`: a classroom on this machine."""

from __future__ import annotations

import os
import secrets
import signal
import sys
from pathlib import Path
from typing import Annotated

import typer

from labkit.cli.options import app, whole
from labkit.errors import LabkitError, UsageError


@app.command()
def hub(
    place: Annotated[Path, typer.Option("--dir", metavar="DIR", help="The classroom's files; made where missing.")],
    learners: Annotated[
        list[str] | None,
        typer.Option("--learner", "--learners", metavar="NAME|FILE", help="A name, or a file of names."),
    ] = None,
    teachers: Annotated[
        list[str] | None, typer.Option("--teacher", "--teachers", metavar="NAME|FILE", help="Likewise.")
    ] = None,
    port: Annotated[int, typer.Option(parser=whole, metavar="N", help="Port to listen on.")] = 8000,
    host: Annotated[str, typer.Option(metavar="ADDRESS", help="Address to listen on; 0.0.0.0 for all.")] = "127.0.0.1",
    shared: Annotated[
        bool, typer.Option("--shared", help="Without root, to try it out: one account, one password, no walls.")
    ] = False,
    key: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", help="File with the course key; else LABKIT_COURSE_KEY, else DIR/course.key, made here."
        ),
    ] = None,
    fork_kernels: Annotated[bool, typer.Option("--fork-kernels/--ordinary-kernels", help="How kernels start.")] = True,
) -> int:
    """Run a JupyterHub for a class: nobody gets in who isn't named, each with a password made here.

    The names are needed once; later starts find them in DIR. Ctrl-C ends the hub and its servers; all files stay.
    """
    from labkit.course.variants import learner_key
    from labkit.hub import accounts, course_copy, preflight, running
    from labkit.hub.classroom import FILE, Classroom, names

    try:
        place.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UsageError(f"--dir {place} can't be made: {(error.strerror or str(error)).lower()}") from None
    place = place.resolve()
    os.umask(0o077)  # what is made here is the teacher's alone; the course is opened to all by name
    if learners or teachers or not (place / FILE).exists():
        if not (learners and teachers):
            raise UsageError(
                "a new classroom needs --learners and --teachers: names, or files with a name on each line"
            )
        account = "shared" if shared else "own"
        people = {"learners": names(learners), "teachers": names(teachers), "accounts": account}
        classroom = Classroom(place, **people, host=host, port=port, fork_kernels=fork_kernels)  # type: ignore[arg-type]
    else:
        kept = Classroom.load(place)
        classroom = Classroom(
            place, kept.learners, kept.teachers, host, port, kept.accounts, kept.memory_mib, kept.processes,
            kept.cull_minutes, fork_kernels,
        )  # fmt: skip
    secret = _key(key, place)
    proxy = preflight.check(classroom, secret)
    course_copy.publish(_bundle(), place)
    place.chmod(0o711)
    classroom.save()
    own = classroom.accounts == "own"
    if own:
        accounts.ensure(classroom.everybody, place)
    password = "" if own else accounts.password()
    extra = {"LABKIT_COURSE_KEY": learner_key(secret).decode()}
    signal.signal(signal.SIGTERM, _stop)
    with running.hub(classroom, proxy, password=password, extra=extra) as process:
        where = f"each has a password in {place / accounts.PASSWORDS}" if own else f"everybody's password is {password}"
        print(f"The classroom is open at {classroom.address}  ({where}; Ctrl-C ends it)", flush=True)
        if not own:
            print("labkit hub: all share one account: for trying out, not for a class", file=sys.stderr)
        code = process.wait()
    raise LabkitError(f"the hub ended by itself (exit code {code}): {running.complaint(place / running.LOG)}")


def _stop(*_: object) -> None:
    raise KeyboardInterrupt


def _key(file: Path | None, place: Path) -> bytes:
    """The key given; else the classroom's own, a teacher's key, made at the first start."""
    from labkit.atomic_file import write_atomic
    from labkit.cli.grading import course_key
    from labkit.course.variants import TEACHER

    if file is not None or "LABKIT_COURSE_KEY" in os.environ:
        return course_key(file)
    own = place / "course.key"
    if not own.exists():
        write_atomic(own, f"{TEACHER}{secrets.token_hex(24)}\n".encode())
    return course_key(own)


def _bundle() -> dict[str, bytes]:
    """The learner's edition of the labs, as `labkit release` lays it out."""
    from labkit.cli.places import course_dir
    from labkit.cli.releasing import _kept
    from labkit.course.release import bundle

    return bundle(course_dir(), constraints=_kept("constraints.txt"), licence=_kept("LICENSE"), answers=None).files
