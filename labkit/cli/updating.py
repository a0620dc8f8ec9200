"""`labkit update`: a newer edition of a lab into a notebook that has been begun."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Annotated

import typer

from labkit.cli import FAULT
from labkit.cli.options import Json, app
from labkit.errors import LabkitError, UsageError
from labkit.words import counted


@app.command()
def update(
    new: Annotated[Path, typer.Argument(metavar="NEW", help="A new lab, or the directory of a released bundle.")],
    mine: Annotated[Path, typer.Argument(metavar="MINE", help="Your notebook, or the directory of your notebooks.")],
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only say what would change.")] = False,
    as_json: Json = False,
) -> int:
    """Bring a newer lab into your notebook: answers and your own cells stay, lost and doubled cells are repaired.

    The notebook as it was is kept in before-update/, under its date. Exit 1 where a notebook couldn't be updated.
    """
    from labkit.course import load
    from labkit.course.updating_files import add, lab_for, labs_in, update

    labs = labs_in(new) if new.is_dir() else [load(new)]
    if not mine.is_dir():
        jobs = [(lab_for(mine, labs) if new.is_dir() else labs[0], mine)]
    elif new.is_dir():
        home = mine / "notebooks" if (mine / "notebooks").is_dir() else mine
        jobs = [(lab, home / lab.path.name) for lab in labs]
    else:
        raise UsageError(f"{mine} is a directory: name your notebook in it, or a bundle in place of {new}")
    done, failed = [], False
    for lab, path in jobs:
        try:
            if path.exists():
                done.append(update(lab, path, write=not dry_run))
            elif not mine.is_dir():
                raise UsageError(f"{mine} does not exist: check the path")
            elif not dry_run:
                done.append(add(lab, path.parent))
        except LabkitError as error:
            if len(jobs) == 1:
                raise
            print(f"labkit update: {error}", file=sys.stderr)  # the others go on
            failed = True
    for one in [] if as_json else done:
        kept = (
            f"{counted(one.answers, 'answer')} and {counted(one.own, 'cell')} of yours kept"
            if one.copy or not one.changes
            else ""
        )
        head = "nothing to do" if not one.changes else counted(len(one.changes), "change")
        print("; ".join(part for part in (f"{one.path}: {head}", kept) if part))
        print("".join(f"  {line}\n" for line in one.changes), end="")
        if one.copy and not dry_run:
            print(f"  as it was: {one.copy}")
    if as_json:
        print(json.dumps([one.to_json() for one in done]))
    return FAULT if failed else 0
