"""The command that finds out why a training loop waits for its data."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from labkit.cli import FAULT
from labkit.cli.objects import find
from labkit.cli.options import Json, app, say
from labkit.errors import UsageError


def html_path(text: str) -> Path:
    """Where the report goes, refused before anything runs."""
    path = Path(text)
    if path.suffix != ".html":
        raise typer.BadParameter(f"{text!r} doesn't end in .html")
    if not path.parent.is_dir():
        raise typer.BadParameter(f"there is no directory {path.parent}")
    return path


def positive(text: str) -> float:
    """A time, for an option's parser."""
    try:
        value = float(text)
    except ValueError:
        value = -1.0
    if not 0 <= value < float("inf"):
        raise typer.BadParameter(f"{text!r} is not a time, 0 or more")
    return value


@app.command()
def diagnose(
    what: Annotated[
        str,
        typer.Argument(
            metavar="PKG.MODULE:MAKE_LOADER[,STEP]",
            help="A function that builds the loader and, after a comma, one that trains on a batch.",
        ),
    ],
    budget: Annotated[float, typer.Option(parser=positive, metavar="S", help="Seconds for the experiments.")] = 20.0,
    step_ms: Annotated[
        float | None,
        typer.Option(parser=positive, metavar="MS", help="Without STEP: the length of a step that stands for it."),
    ] = None,
    html: Annotated[
        Path | None, typer.Option(parser=html_path, metavar="FILE", help="Write a report to this file.")
    ] = None,
    as_json: Json = False,
) -> int:
    """Why does the trainer wait? Exit 1 where a fault is named, 0 for healthy and for not enough evidence.

    STEP is a name in the same module, or PKG.MODULE:NAME. Without it the loader is read as fast as it goes (or with
    --step-ms), so only what is wrong with reading shows.
    """
    from labkit.pipeline import diagnose as examine

    place, _, name = what.partition(",")
    make_loader = find("make_loader", place)
    step = None
    if name:
        step = find("step", name if ":" in name else f"{place.rpartition(':')[0]}:{name}")
        if step_ms is not None:
            raise UsageError(f"--step-ms is {step_ms:g}, but there is a step {name!r}: give one of the two")
    found = examine(make_loader, step, budget_s=budget, step_ms=step_ms)
    say(found, as_json)
    if html is not None:
        html.write_text(found.html(what), encoding="utf-8")
    return FAULT if found.found else 0
