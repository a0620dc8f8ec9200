"""`labkit pack`: samples into one of four formats, and a pack read back and compared with what was written."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Annotated, Any

import typer

from labkit.cli import FAULT
from labkit.cli.options import Json, app, whole
from labkit.errors import UsageError

_UNITS = {"": 1, "K": 1024, "M": 1024**2, "G": 1024**3}


def size(text: str) -> int:
    """A number of bytes such as 500K or 16M, for an option's parser."""
    found = re.fullmatch(r"(\d+)([KMG]?)(?:i?B)?", text.strip(), re.IGNORECASE)
    if not found or not int(found[1]):
        raise typer.BadParameter(f"{text!r} is not a size: give bytes, or a number with K, M or G, such as 16M")
    return int(found[1]) * _UNITS[found[2].upper()]


@app.command()
def pack(
    source: Annotated[Path, typer.Argument(metavar="SRC", help="A directory of files KEY.FIELD, or a pack.")],
    to: Annotated[str | None, typer.Option(help="files, tar, lmdb or tfrecord.")] = None,
    out: Annotated[Path | None, typer.Option(metavar="DIR", help="The pack: a directory that isn't there yet.")] = None,
    shard_size: Annotated[
        int | None, typer.Option(parser=size, metavar="SIZE", help="tar, tfrecord: a shard's size, such as 16M.")
    ] = None,
    shard_samples: Annotated[
        int | None, typer.Option(parser=whole, metavar="N", help="tar, tfrecord: samples in a shard at most.")
    ] = None,
    verify: Annotated[
        bool, typer.Option("--verify", help="Read it back and compare; alone: do so with a pack that is there.")
    ] = False,
    as_json: Json = False,
) -> int:
    """Pack samples, or verify a pack. Exit 1 where what can be read isn't what was written."""
    from labkit.pipeline import packing

    if to is None and out is None:
        if not verify:
            raise UsageError("nothing to do: give --to FORMAT --out DIR, or --verify for a pack that is there")
        if shard_size is not None or shard_samples is not None:
            raise UsageError("--verify alone writes no shards: leave out their size, or give --to and --out")
        packed = packing.open_pack(source)
    elif to is None or out is None:
        raise UsageError(f"{'--to FORMAT' if to is None else '--out DIR'} is missing: both are needed to write a pack")
    else:
        if to not in packing.FORMATS:
            raise UsageError(f"--to is {to!r}: give one of {', '.join(packing.FORMATS)}")
        samples = packing.samples_of(source)
        packed = packing.pack(samples, out, to, shard_bytes=shard_size, shard_samples=shard_samples)

    told: dict[str, Any] = {
        "path": str(packed.path),
        "format": packed.format,
        "samples": len(packed),
        "shards": [{"name": s.name, "bytes": s.bytes, "samples": len(s)} for s in packed.shards],
        "bytes": packed.bytes,
        "content": packed.manifest.content,
    }
    lines = [
        f"{packed.path}: {len(packed):,} samples as {packed.format}, {packed.bytes:,} bytes in {packed.parts()}",
        f"content as written {packed.manifest.content}",
    ]
    found = packing.verify(packed) if verify else None
    if found is not None:
        told["verified"] = found.as_dict()
        lines.append(found.text())
    print(json.dumps(told) if as_json else "\n".join(lines))
    return 0 if found is None or found.ok else FAULT
