"""`labkit release`: the learner's bundle, as a directory and as a zip."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Annotated

import typer

import labkit
from labkit.cli import FAULT
from labkit.cli.options import Json, app
from labkit.errors import UsageError
from labkit.words import counted

BY_NAME = (
    "learners will install labkit by its name, and it isn't on PyPI yet: give --wheel FILE (pip wheel --no-deps .)"
)


@app.command()
def release(
    out: Annotated[Path, typer.Option(metavar="DIR", help="Where the bundle goes; a repository of yours, or new.")],
    labs: Annotated[list[str] | None, typer.Argument(metavar="[LAB]...", help="Numbers, such as 01; else all.")] = None,
    zip_file: Annotated[Path | None, typer.Option("--zip", metavar="FILE", help="Also as one zip file.")] = None,
    wheel: Annotated[
        Path | None, typer.Option(metavar="FILE", help="labkit's wheel, where learners can't install it by name.")
    ] = None,
    as_json: Json = False,
) -> int:
    """Put the learner's bundle together: blank labs, pins, README. Exit 1 where an answer or an unclean lab is in it.

    The same labs give the same bytes. Nobody's file is overwritten: in DIR only an earlier release, unedited.
    """
    from labkit.cli.places import course_dir
    from labkit.course.release import Refused, bundle, keep_others, stamp, write_directory, write_zip, zipped

    when = stamp()
    course = course_dir()
    answers = course.parent / "tests" / "answers"
    found = answers if answers.is_dir() else None
    try:
        kept = {"constraints": _kept("constraints.txt"), "licence": _kept("LICENSE")}
        made = bundle(course, labs or [], **kept, answers=found, wheel=wheel)
    except Refused as error:
        print(error)
        print("labkit release: nothing was written", file=sys.stderr)
        return FAULT
    if labs:
        keep_others(made.labs, out)
    if zip_file is not None:
        write_zip(zipped(made.files, when), zip_file)
    write_directory(made.files, out, when)
    looked = f"none of {made.secrets} right answers is in it" if found else "no answers here to look for"
    if as_json:
        said = {"out": str(out), "zip": zip_file and str(zip_file), "labs": [lab.number for lab in made.labs]}
        print(json.dumps({**said, "files": list(made.files), "answers_looked_for": made.secrets}))
    else:
        which = f"{'lab' if len(made.labs) == 1 else 'labs'} {', '.join(lab.number for lab in made.labs)}"
        print(f"{out}: {which}, {counted(len(made.files), 'file')}; {looked}")
    if wheel is None:
        print(BY_NAME, file=sys.stderr)
    return 0


def _kept(name: str) -> bytes:
    """A file of the repository; from a wheel, the copy inside the package."""
    inside = Path(labkit.__file__).parent
    for place in (inside / name, inside.parent / name):
        if place.is_file():
            return place.read_bytes()
    raise UsageError(f"{name} of labkit is not here: install labkit again, or release from its repository")
