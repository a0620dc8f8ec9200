"""`labkit submit`, `collect` and `feedback`: hand-ins on a class's hub."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from labkit.cli.options import Json, app
from labkit.words import counted


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
    until: Annotated[
        str,
        typer.Option(metavar="TIME", help="The last hand-ins up to then: 2026-03-02T18:00+01:00; no zone: UTC."),
    ] = "",
    lab: Annotated[str, typer.Option(metavar="NN", help="Only this lab, such as 01.")] = "",
    as_json: Json = False,
) -> int:
    """Bring the newest hand-ins of the class here (teachers, from their server on the hub). Files already here stay.

    Each learner gets a folder a lab: the notebook, and timestamp.txt with the time of its hand-in. Teachers' own
    hand-ins are trials and are left out.
    """
    from labkit.hub.inbox_client import collect as bring

    done = bring(out, until=until, lab=lab)
    if as_json:
        print(json.dumps([asdict(one) for one in done.fresh]))
        return 0
    for one in done.fresh:
        print(f"{one.learner}/{one.name}: hand-in {one.number}, taken {one.at}")
    for one in done.late:
        print(f"{one.learner}/{one.name}: left out, first handed in after {until}")
    if done.of_teachers:
        print(f"left out: {counted(done.of_teachers, 'hand-in')} of teachers")
    print(f"{len(done.fresh)} new in {out}{f', of lab {lab}' if lab else ''}")
    return 0


@app.command()
def feedback(
    grading: Annotated[Path, typer.Argument(metavar="DIR", help="What labkit grade --out wrote.")],
    learners: Annotated[list[str] | None, typer.Argument(metavar="[LEARNER]...", help="Only these; else all.")] = None,
) -> int:
    """Give each learner the report of their grading (teachers, from their server on the hub).

    A report that they had before stays, under its date.
    """
    from labkit.grading.outputs import LEARNERS
    from labkit.hub.inbox_client import give_feedback

    given, without = give_feedback(grading / LEARNERS, learners)
    have = "has" if len(given) == 1 else "have"
    print(f"{counted(len(given), 'learner')} {have} their report: {', '.join(given)}")
    if without:
        print(f"handed in, but without a report in {grading}: {', '.join(without)}")
    return 0
