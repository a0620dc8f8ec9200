"""The commands of "resume it": the line, its reconciliation, the store, and how often to save."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from labkit.cli import FAULT
from labkit.cli.app import Json, _whole, app


@app.command()
def train(
    steps: Annotated[
        int, typer.Option(parser=_whole, metavar="N", help="Updates in all, those before a resume included.")
    ],
    checkpoint: Annotated[Path | None, typer.Option(help="Write the state after the last update to this file.")] = None,
    output: Annotated[Path | None, typer.Option(help="Write the report of this run to this file.")] = None,
    resume: Annotated[Path | None, typer.Option(help="Go on from this checkpoint.")] = None,
    fault: Annotated[
        str | None, typer.Option(help="What the resume forgets: drop-optimizer, reset-cursor or reset-rng.")
    ] = None,
    seed: Annotated[int, typer.Option(parser=_whole, metavar="N", help="Of the shuffler.")] = 7,
    as_json: Json = False,
) -> int:
    """Train the line y = 3x + 2, from the start or from a checkpoint."""
    from labkit import resume as part

    report = part.train(steps, seed=seed, checkpoint=checkpoint, resume=resume, fault=fault)
    if output is not None:
        report.save(output)
    print(report.to_json() if as_json else report.text())
    return 0


@app.command()
def reconcile(
    a: Annotated[Path, typer.Argument(metavar="A.json", help="A report or a checkpoint of train.")],
    b: Annotated[Path, typer.Argument(metavar="B.json", help="Another one.")],
    png: Annotated[Path | None, typer.Option(help="Draw both runs to this file; for two reports.")] = None,
    as_json: Json = False,
) -> int:
    """The first component in which two runs differ. Exit 1 where they do."""
    from labkit.errors import UsageError
    from labkit.resume import Report
    from labkit.resume import reconcile as compare

    found = compare(a, b)
    if png is not None:
        if png.suffix != ".png":
            raise UsageError(f"--png {png}: name a file that ends in .png")
        png.write_bytes(Report.load(a).plot(Report.load(b)).png())
    if as_json:
        print(json.dumps(None) if found is None else found.to_json())
    else:
        print("same state" if found is None else found.text())
    return 0 if found is None else FAULT
