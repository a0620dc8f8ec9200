"""`labkit submit`, `collect` and `feedback`: hand-ins on a class's hub."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from labkit.cli.options import Json, app


@app.command()
def submit(
    notebook: Annotated[Path, typer.Argument(metavar="NOTEBOOK", help="The lab's file, saved.")], as_json: Json = False
) -> int:
    """Hand in a lab to your class, from your server on its hub; prints the receipt. The newest hand-in counts."""
    from labkit.hub.inbox_client import submit as hand_in

    receipt = hand_in(notebook)
    print(json.dumps(asdict(receipt)) if as_json else receipt.text())
    return 0


@app.command()
def collect(
    out: Annotated[
        Path, typer.Option(metavar="DIR", help="Gets a directory for each learner, ready for labkit grade.")
    ],
    as_json: Json = False,
) -> int:
    """Bring the newest hand-ins of the class here (teachers, from their server on the hub). Files already here stay."""
    from labkit.hub.inbox_client import collect as bring

    fresh = bring(out)
    if as_json:
        print(json.dumps([asdict(one) for one in fresh]))
    else:
        print(
            "\n".join(
                [*(f"{one.learner}/{one.name}: hand-in {one.number}" for one in fresh), f"{len(fresh)} new in {out}"]
            )
        )
    return 0


@app.command()
def feedback(
    grading: Annotated[Path, typer.Argument(metavar="DIR", help="What labkit grade --out wrote.")],
    learners: Annotated[list[str] | None, typer.Argument(metavar="[LEARNER]...", help="Only these; else all.")] = None,
) -> int:
    """Give each learner the report of their grading (teachers, from their server on the hub)."""
    from labkit.grading.outputs import LEARNERS
    from labkit.hub.inbox_client import give_feedback, handed_in

    given = give_feedback(grading / LEARNERS, learners or handed_in())
    print(f"{len(given)} learners have their report: {', '.join(given)}")
    return 0
