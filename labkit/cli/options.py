"""What all commands share: the application they register on, and options that mean the same everywhere."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any

import typer

app = typer.Typer(
    name="labkit",
    help="Labs and instruments for training data and recovery.",
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    add_completion=False,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)


def whole(text: str) -> int:
    """A whole number, for an option's parser."""
    try:
        return int(text)
    except ValueError:
        raise typer.BadParameter(f"{text!r} is not a whole number") from None


def png_path(text: str) -> Path:
    """Where a drawing goes, for an option's parser: refused before anything runs, so that no result is lost over it."""
    path = Path(text)
    if path.suffix != ".png":
        raise typer.BadParameter(f"{text!r} doesn't end in .png")
    if not path.parent.is_dir():
        raise typer.BadParameter(f"there is no directory {path.parent}")
    return path


Json = Annotated[bool, typer.Option("--json", help="Print JSON for a program to read.")]
Png = Annotated[Path | None, typer.Option(parser=png_path, metavar="FILE", help="Write the drawing to this file.")]


def say(thing: Any, as_json: bool, png: Path | None = None) -> None:
    """Print a result, as text or as its `as_dict()`, and only then draw it."""
    print(json.dumps(thing.as_dict()) if as_json else thing.text())
    draw(thing, png)


def draw(thing: Any, png: Path | None) -> None:
    """Write `thing.plot()` to `png`, where one is wanted."""
    if png is not None:
        png.write_bytes(thing.plot().png())
