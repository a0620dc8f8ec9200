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

OWN_KEY = "course.key"


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
    removed: Annotated[
        list[str] | None, typer.Option("--remove", metavar="NAME", help="Who leaves the class; their files stay.")
    ] = None,
    port: Annotated[
        int | None, typer.Option(parser=whole, metavar="N", help="Port to listen on.", show_default="8000")
    ] = None,
    host: Annotated[
        str | None,
        typer.Option(metavar="ADDRESS", help="Address to listen on; 0.0.0.0 for all.", show_default="127.0.0.1"),
    ] = None,
    shared: Annotated[
        bool, typer.Option("--shared", help="Without root, to try it out: one account, one password, no walls.")
    ] = False,
    key: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", help="File with the course key; else LABKIT_COURSE_KEY, else DIR/course.key, made here."
        ),
    ] = None,
    fork_kernels: Annotated[
        bool | None,
        typer.Option("--fork-kernels/--ordinary-kernels", help="How kernels start.", show_default="fork-kernels"),
    ] = None,
) -> int:
    """Run a JupyterHub for a class: nobody gets in who isn't named, each with a password made here.

    Later starts find names and options in DIR: what is given changes, names given are added, and the rest stays.
    Ctrl-C ends the hub and its servers; all files stay.
    """
    from labkit.course.variants import learner_key
    from labkit.hub import accounts, course_copy, preflight, running
    from labkit.hub.classroom import names
    from labkit.hub.classroom_changes import begun, changed, kept

    place = place.resolve()
    room = kept(place)
    given = {"host": host, "port": port, "fork_kernels": fork_kernels}
    come = names(learners or []), names(teachers or [])
    if room is None and removed:
        raise UsageError(f"--remove {removed[0]}: there is no classroom in {place} yet")
    change = changed(room, *come, removed or [], shared, given) if room else begun(place, *come, shared, given)
    classroom = change.classroom
    own = classroom.accounts == "own"
    secret = _key(key, place)
    proxy = preflight.check(classroom, secret)  # nothing is made or kept before everything was looked at
    _make(place)
    os.umask(0o077)  # what is made here is the teacher's alone; the course is opened to all by name
    if _own_key(key):
        _keep(secret, place)
    preflight.keep_key(place, secret)
    course_copy.publish(_bundle(), place)
    place.chmod(0o711)
    if own:
        accounts.ensure(classroom.everybody, place)
    classroom.save()
    if room and change.text():
        print(change.text(), flush=True)
    password = "" if own else accounts.password()
    extra = {"LABKIT_COURSE_KEY": learner_key(secret).decode()}
    signal.signal(signal.SIGTERM, _stop)
    with running.hub(classroom, proxy, password=password, extra=extra) as process:
        where = f"each has a password in {place / accounts.PASSWORDS}" if own else f"everybody's password is {password}"
        print(f"The classroom is open at {running.reached_at(classroom)}  ({where}; Ctrl-C ends it)", flush=True)
        if not own:
            print("labkit hub: all share one account: for trying out, not for a class", file=sys.stderr)
        code = process.wait()
    raise LabkitError(f"the hub ended by itself (exit code {code}): {running.complaint(place / running.LOG)}")


def _stop(*_: object) -> None:
    raise KeyboardInterrupt


def _make(place: Path) -> None:
    before = os.umask(0o022)  # learners pass through
    try:
        place.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UsageError(f"--dir {place} can't be made: {(error.strerror or str(error)).lower()}") from None
    finally:
        os.umask(before)


def _own_key(file: Path | None) -> bool:
    """Whether the classroom's own key counts: none was given."""
    return file is None and "LABKIT_COURSE_KEY" not in os.environ


def _key(file: Path | None, place: Path) -> bytes:
    """The key given; else the classroom's own, a teacher's key; else a new one, which `_keep` writes."""
    from labkit.cli.grading import course_key
    from labkit.course.variants import TEACHER

    if not _own_key(file):
        return course_key(file)
    own = place / OWN_KEY
    return course_key(own) if own.exists() else f"{TEACHER}{secrets.token_hex(24)}".encode()


def _keep(key: bytes, place: Path) -> None:
    """Write the classroom's own key, where it is new."""
    from labkit.atomic_file import write_atomic

    if not (place / OWN_KEY).exists():
        write_atomic(place / OWN_KEY, key + b"\n")


def _bundle() -> dict[str, bytes]:
    """The learner's edition of the labs, as `labkit release` lays it out."""
    from labkit.cli.places import course_dir
    from labkit.cli.releasing import _kept
    from labkit.course.release import bundle

    return bundle(course_dir(), constraints=_kept("constraints.txt"), licence=_kept("LICENSE"), answers=None).files
