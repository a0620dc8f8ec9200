"""The commands of "count it": who reads which sample, what that does to a metric, and how it scales."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any

import typer

from labkit.cli import FAULT
from labkit.cli.objects import find
from labkit.cli.options import Json, Png, app, draw, say, whole
from labkit.errors import UsageError

Ranks = Annotated[int, typer.Option(parser=whole, metavar="N", help="How many real ranks.")]


MOST_SAMPLES = 10_000_000
"""A mistyped number must not take all memory: a plan names every id."""


@app.command()
def plan(
    samples: Annotated[int, typer.Option(parser=whole, metavar="N", help="How many samples.")],
    batch_size: Annotated[int, typer.Option(parser=whole, metavar="N", help="Samples in a batch of one rank.")],
    ranks: Annotated[int, typer.Option(parser=whole, metavar="N", help="How many ranks.")],
    split_batches: Annotated[bool, typer.Option("--split-batches", help="Cut each batch into a slice a rank.")] = False,
    even_batches: Annotated[
        bool, typer.Option("--even-batches/--no-even-batches", help="Fill the tail with the first samples.")
    ] = True,
    drop_last: Annotated[bool, typer.Option("--drop-last", help="Leave out what doesn't fill a round.")] = False,
    rule: Annotated[
        str, typer.Option(help="accelerate (whole batches or slices), torch (DistributedSampler) or dispatch.")
    ] = "accelerate",
    png: Png = None,
    as_json: Json = False,
) -> int:
    """Who reads which sample: duplicates, drops, steps. Exit 1 where ranks take unequal steps."""
    from labkit import sharding

    if samples > MOST_SAMPLES:
        raise UsageError(f"samples is {samples}: at most {MOST_SAMPLES:,} here; the tail looks the same for fewer")
    if rule != "accelerate" and (split_batches or not even_batches):
        raise UsageError(f"--rule {rule} has no --split-batches and no --no-even-batches: they are accelerate's")
    if rule == "accelerate":
        found = sharding.plan(
            samples, batch_size, ranks, split_batches=split_batches, even_batches=even_batches, drop_last=drop_last
        )
    elif rule == "torch":
        found = sharding.plan_distributed_sampler(samples, batch_size, ranks, drop_last=drop_last)
    elif rule == "dispatch":
        found = sharding.plan_dispatch(samples, batch_size, ranks, drop_last=drop_last)
    else:
        raise UsageError(f"--rule is {rule!r}: give accelerate, torch or dispatch")
    say(found, as_json, png)
    return FAULT if found.hang_risk else 0


@app.command()
def audit_sharding(
    make_loader: Annotated[str, typer.Argument(metavar="PKG.MODULE:MAKE_LOADER", help="Builds your loader.")],
    ranks: Ranks = 4,
    epochs: Annotated[int, typer.Option(parser=whole, metavar="N", help="Epochs to walk; two show what repeats.")] = 2,
    sample_id: Annotated[str | None, typer.Option(metavar="PKG.MODULE:FN", help="Sample -> its id.")] = None,
    on_epoch: Annotated[
        str | None, typer.Option(metavar="PKG.MODULE:FN", help="Called with (loader, epoch) before each epoch.")
    ] = None,
    png: Png = None,
    as_json: Json = False,
) -> int:
    """Walk your loader on real ranks: what was read twice, never, in the same order. Exit 1 where a fault is found."""
    from labkit.sharding import audit

    found = audit(
        find("make_loader", make_loader),
        ranks=ranks,
        epochs=epochs,
        sample_id=None if sample_id is None else find("sample_id", sample_id),
        on_epoch=None if on_epoch is None else find("on_epoch", on_epoch),
    )
    say(found, as_json, png)
    return 0 if found.clean else FAULT


@app.command()
def audit_metric(
    metric: Annotated[str, typer.Argument(metavar="PKG.MODULE:METRIC", help="Your metric: a function or a class.")],
    data: Annotated[
        str,
        typer.Option(
            metavar="FILE.npz|PKG.MODULE:FN", help="Arrays predictions and targets, or a function that returns both."
        ),
    ],
    ranks: Ranks = 4,
    reduction: Annotated[str | None, typer.Option(help="For a function: mean, weighted, gather or own.")] = None,
    batch_size: Annotated[int | None, typer.Option(parser=whole, metavar="N", help="Samples in one update.")] = None,
    png: Png = None,
    as_json: Json = False,
) -> int:
    """Run your metric on real ranks over many partitions of the same samples. Exit 1 where the value moves."""
    from labkit.metrics import audit

    predictions, targets = _pairs(data)
    found = audit(find("metric", metric), predictions, targets, ranks=ranks, reduction=reduction, batch_size=batch_size)
    say(found, as_json, png)
    return 0 if found.ok else FAULT


@app.command()
def bench_scaling(
    make_step: Annotated[
        str, typer.Argument(metavar="PKG.MODULE:MAKE_STEP", help="make_step(rank, ranks) returns your training step.")
    ],
    batch_size: Annotated[int, typer.Option(parser=whole, metavar="N", help="Samples of one rank in one step.")],
    ranks: Annotated[str, typer.Option(metavar="N,N", help="Numbers of ranks, 1 among them.")] = "1,2,4",
    warmup: Annotated[int, typer.Option(parser=whole, metavar="N", help="Steps that don't count.")] = 10,
    data: Annotated[str | None, typer.Option(help="A file whose content names the data in the report.")] = None,
    out: Annotated[Path | None, typer.Option(metavar="DIR", help="Write a report for each number of ranks.")] = None,
    png: Png = None,
    as_json: Json = False,
) -> int:
    """Samples per second and weak-scaling efficiency of your step, with the protocol recorded."""
    from labkit.scaling import weak_scaling

    try:
        counts = [int(part) for part in ranks.split(",")]
    except ValueError:
        raise UsageError(f"--ranks is {ranks!r}: give whole numbers with commas, such as 1,2,4") from None
    if out is not None and out.exists() and not out.is_dir():
        raise UsageError(f"--out {out} is a file: name a directory")
    identity = None if data is None else Path(data)
    study = weak_scaling(
        find("make_step", make_step), batch_size=batch_size, ranks=counts, warmup=warmup, data=identity
    )
    if out is not None:
        out.mkdir(parents=True, exist_ok=True)
        for one in study.benchmarks:
            one.save(out / f"ranks-{one.ranks}.json")
    reports = [json.loads(one.to_json()) for one in study.benchmarks]
    print(json.dumps({"efficiency": study.efficiency, "reports": reports}) if as_json else study.text())
    draw(study, png)
    return 0


@app.command()
def compare_scaling(
    a: Annotated[Path, typer.Argument(help="A report of bench-scaling --out.")],
    b: Annotated[Path, typer.Argument(help="Another one.")],
) -> int:
    """Put two reports side by side, or say which field makes them unlike. Exit 1 where they can't be compared."""
    from labkit.scaling import Benchmark, NotComparable, compare

    try:
        print(compare(Benchmark.load(a), Benchmark.load(b)).text())
    except NotComparable as difference:
        print(difference)
        return FAULT
    return 0


def _pairs(data: str) -> tuple[Any, Any]:
    """Predictions and targets: two arrays of an .npz file, or what a function returns."""
    if not data.endswith(".npz"):
        return _made_by(data)
    import numpy as np

    try:
        with np.load(data, allow_pickle=False) as arrays:  # an array of objects would run code
            return arrays["predictions"], arrays["targets"]
    except KeyError as error:
        raise UsageError(f"{data} lacks the array {error.args[0].split()[0]}: save predictions and targets") from None
    except ValueError:
        raise UsageError(
            f"{data} can't be read: give an .npz of plain numbers, np.savez(file, predictions=, targets=)"
        ) from None


def _made_by(data: str) -> tuple[Any, Any]:
    make = find("--data", data)
    if not callable(make):
        raise UsageError(f"--data {data} is {make!r}: give a function that returns (predictions, targets)")
    try:
        made = make()
    except Exception as error:  # the person's own function
        raise UsageError(f"--data {data} raised {type(error).__name__}: {error}") from None
    if not isinstance(made, tuple | list) or len(made) != 2:
        raise UsageError(f"--data {data} returned {type(made).__name__}: return (predictions, targets)")
    return made[0], made[1]
