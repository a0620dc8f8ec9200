"""What all commands share: the application they register on, and options that mean the same everywhere."""

from __future__ import annotations

from typing import Annotated

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


Json = Annotated[bool, typer.Option("--json", help="Print JSON for a program to read.")]
