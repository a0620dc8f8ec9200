"""The commands of "resume it": the line, its reconciliation, the store, and how often to save."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from labkit.cli import FAULT
from labkit.cli.options import Json, app, whole


@app.command()
def train(
    steps: Annotated[
        int, typer.Option(parser=whole, metavar="N", help="Updates in all, those before a resume included.")
    ],
    checkpoint: Annotated[Path | None, typer.Option(help="Write the state after the last update to this file.")] = None,
    output: Annotated[Path | None, typer.Option(help="Write the report of this run to this file.")] = None,
    resume: Annotated[Path | None, typer.Option(help="Go on from this checkpoint.")] = None,
    fault: Annotated[
        str | None, typer.Option(help="What the resume forgets: drop-optimizer, reset-cursor or reset-rng.")
    ] = None,
    seed: Annotated[int, typer.Option(parser=whole, metavar="N", help="Of the shuffler.")] = 7,
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
    from labkit.resume import Report
    from labkit.resume import reconcile as compare

    _check_ending(png)
    found = compare(a, b)
    if png is not None:
        png.write_bytes(Report.load(a).plot(Report.load(b)).png())
    if as_json:
        print(json.dumps(None) if found is None else found.to_json())
    else:
        print("same state" if found is None else found.text())
    return 0 if found is None else FAULT


store = typer.Typer(help="Look into a store of checkpoints.", rich_markup_mode=None)
app.add_typer(store, name="store")


@store.command()
def verify(
    path: Annotated[Path, typer.Argument(metavar="PATH", help="The store's directory.")],
    as_json: Json = False,
) -> int:
    """Read every checkpoint against its checksums. Exit 1 where one doesn't verify."""
    from labkit.errors import UsageError
    from labkit.resume import Store

    if not path.exists():
        raise UsageError(f"there is nothing at {path}: name a directory that a Store has saved to")
    report = Store(path).verify()
    print(report.to_json() if as_json else report.text())
    return 0 if report.ok else FAULT


@app.command()
def interval(
    save_cost: Annotated[float, typer.Option(help="Time that one save takes from training.")],
    mtbf: Annotated[float, typer.Option(help="Mean time between failures, in the same unit.")],
    recovery: Annotated[float, typer.Option(help="From a failure until training goes on; for the cost.")] = 0.0,
    png: Annotated[Path | None, typer.Option(help="Draw the cost over the interval to this file.")] = None,
    as_json: Json = False,
) -> int:
    """How often to save: Young's, Daly's and the exact interval, and what each costs."""
    from labkit.resume import daly, draw_interval, exact_interval, expected_time, young

    _check_ending(png)
    chosen = {"Young": young(save_cost, mtbf), "Daly": daly(save_cost, mtbf), "exact": exact_interval(save_cost, mtbf)}
    cost = {name: expected_time(tau, save_cost, mtbf, recovery=recovery) - 1 for name, tau in chosen.items()}
    if png is not None:
        png.write_bytes(draw_interval(save_cost, mtbf, recovery=recovery, unit="any unit").png())
    if as_json:
        print(json.dumps({name: {"interval": chosen[name], "cost": cost[name]} for name in chosen}))
    else:
        for name, tau in chosen.items():
            print(f"{name:6} {tau:12.2f}   the run takes {100 * cost[name]:.3g} % longer")
    return 0


def _check_ending(png: Path | None) -> None:
    from labkit.errors import UsageError

    if png is not None and png.suffix != ".png":
        raise UsageError(f"--png {png}: name a file that ends in .png")
