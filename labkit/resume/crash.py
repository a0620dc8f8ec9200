"""Every state a power cut may leave: what a disk may hold after some operations, given what had been made durable.

The model is what POSIX promises and no more, as in ALICE (Pillai et al., OSDI 2014). A write is durable once its file
is fsynced, a name (created, linked, renamed, removed) once its directory is. Until then each may be there or not, in
any combination; a rename is one change. A write may also be cut short, have zeros where blocks never arrived, or lack
one block. A kill of the process alone (SIGKILL) is milder: the kernel still writes everything.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import TypeAlias

from labkit.errors import UsageError
from labkit.resume.store_files import Operation

Tree: TypeAlias = dict[str, bytes | None]
"""What a directory holds: a file's content by its path, None for a directory."""
MOST = 100_000
SYNCS = ("fsync", "fsync_dir")


@dataclass(frozen=True)
class CrashState:
    """One state of the disk.

    Attributes:
        after: operations that had been called at the crash.
        tree: what is on the disk.
    """

    after: int
    tree: Tree


@dataclass(frozen=True)
class _Way:
    """How a change may have reached the disk: bytes at an offset, a name that leads somewhere or nowhere, ..."""

    kind: str  # "write", "truncate", "name", "remove" or "rename"
    offset: int = 0
    data: bytes = b""
    name: str = ""
    inode: int = 0
    source: int = 0  # of a rename: the directory and the name that the file had
    old: str = ""


@dataclass
class _Effect:
    """One change that an operation makes."""

    at: int  # the operation
    inode: int  # the file or directory that is changed
    ways: list[_Way]  # the first is the whole change
    durable: int | None = None  # the fsync that made it durable
    gone: list[int] = field(default_factory=list)  # what a removal cuts off, once it is durable


def crash_states(
    log: Sequence[Operation],
    *,
    before: Mapping[str, bytes] | None = None,
    marks: Sequence[int] = (),
    block: int = 4096,
) -> Iterator[CrashState]:
    """Every legal state of the disk after a crash during `log`, each tree once for each stretch of the log.

    Args:
        log: what was done, in order. Directories that aren't made in it, and the root "", exist and are durable.
        before: files that were there, durable.
        marks: numbers of operations at which something was promised (a save returned). States before and after one are
            told apart; those between two fsyncs otherwise aren't, since the later ones include the earlier.
        block: bytes that reach the disk together.

    Raises:
        UsageError: the log names a file that isn't there, or leaves so much unsynced that there are more than 100,000
            states at one point.
    """
    effects, contents, names = _effects(log, dict(before or {}), block)
    stops = sorted(
        {i for i, op in enumerate(log) if op.kind in SYNCS} | {m for m in marks if m <= len(log)} | {len(log)}
    )
    section = -1
    seen: set[tuple[tuple[str, bytes | None], ...]] = set()
    for stop in stops:
        if (here := sum(mark <= stop for mark in marks)) != section:
            section, seen = here, set()  # what is promised has changed: the same tree is judged anew
        begun = [effect for effect in effects if effect.at < stop]
        options = [
            effect.ways[:1] if effect.durable is not None and effect.durable < stop else [*effect.ways, None]
            for effect in begun
        ]  # None: it hasn't reached the disk
        total = 1
        for ways in options:
            total *= len(ways)
            if total > MOST:
                raise UsageError(f"after {stop} operations more than {MOST} states are possible: fsync more often")
        for chosen in itertools.product(*options):
            tree = _tree(chosen, begun, contents, names)
            key = tuple(sorted(tree.items()))
            if key not in seen:
                seen.add(key)
                yield CrashState(stop, tree)


def lay_out(tree: Tree, directory: str | Path) -> None:
    """Write a tree into a directory."""
    for name in sorted(tree):
        path, content = Path(directory) / name, tree[name]
        if content is None:
            path.mkdir(parents=True, exist_ok=True)
        else:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content)


def _effects(
    log: Sequence[Operation], before: Mapping[str, bytes], block: int
) -> tuple[list[_Effect], dict[int, bytes], dict[int, dict[str, int]]]:
    """The changes that a log makes, by inode; the files and names that were there at the start."""
    numbers = itertools.count(1)
    root = 0
    live: dict[int, dict[str, int]] = {root: {}}  # directories as the running system sees them
    contents: dict[int, bytes] = {}
    linked: set[int] = set()  # files with a second name: one of the two may outlive the other on the disk

    def directory(path: PurePosixPath) -> int:
        here = root
        for name in path.parts:
            if name not in live[here]:
                number = next(numbers)
                live[here][name], live[number] = number, {}
            here = live[here][name]
            if here not in live:
                raise UsageError(f"{path} isn't a directory")
        return here

    for name, content in before.items():
        path = PurePosixPath(name)
        number = next(numbers)
        live[directory(path.parent)][path.name] = number
        contents[number] = content
    made = tuple(f"{op.path}/" for op in log if op.kind == "mkdir")
    for op in log:  # directories that the log uses and doesn't make were there
        for name in (op.path, op.target) if op.target else (op.path,):
            if not f"{(above := PurePosixPath(name).parent)}/".startswith(made):
                directory(above)
    start = {number: dict(entries) for number, entries in live.items()}

    effects: list[_Effect] = []
    written: dict[int, _Effect] = {}  # the write that a next one may be joined to

    def add(at: int, inode: int, *ways: _Way) -> _Effect:
        effects.append(_Effect(at, inode, list(ways)))
        return effects[-1]

    def file(path: PurePosixPath) -> int:
        number = live[directory(path.parent)].get(path.name)
        if number is None or number in live:
            raise UsageError(f"{path} isn't a file at that point: create it first")
        return number

    def settle(at: int, inode: int) -> None:
        written.pop(inode, None)
        for effect in effects:
            if effect.inode == inode and effect.durable is None:
                effect.durable = at
                for other in effect.gone:
                    settle(at, other)

    def cut_off(number: int) -> list[int]:
        """What nothing leads to once a name is gone for good: its changes no longer matter."""
        return [] if number in linked else [number]

    for at, op in enumerate(log):
        path = PurePosixPath(op.path)
        parent = directory(path.parent) if op.path else root
        names = live[parent]
        if op.kind == "mkdir":
            number = next(numbers)
            names[path.name], live[number] = number, {}
            start.setdefault(number, {})
            add(at, parent, _Way("name", name=path.name, inode=number))
        elif op.kind == "create":
            number = next(numbers)
            names[path.name], contents[number] = number, b""
            add(at, parent, _Way("name", name=path.name, inode=number))
        elif op.kind == "truncate":
            number = file(path)
            written.pop(number, None)
            add(at, number, _Way("truncate"))
        elif op.kind == "write":
            number = file(path)
            joined = written.get(number)
            if joined is not None:
                way = joined.ways[0]
                if way.offset + len(way.data) == op.offset:
                    joined.ways = _torn(way.offset, way.data + op.data, block)
                    continue
            written[number] = add(at, number, *_torn(op.offset, op.data, block))
        elif op.kind == "fsync":
            settle(at, file(path))
        elif op.kind == "fsync_dir":
            settle(at, directory(path))
        elif op.kind == "link":
            number, target = file(path), PurePosixPath(op.target)
            holder = directory(target.parent)
            live[holder][target.name] = number
            linked.add(number)
            add(at, holder, _Way("name", name=target.name, inode=number))
        elif op.kind == "rename":
            target = PurePosixPath(op.target)
            holder, number = directory(target.parent), names.pop(path.name)
            replaced = live[holder].get(target.name)
            live[holder][target.name] = number
            effect = add(at, holder, _Way("rename", name=target.name, inode=number, source=parent, old=path.name))
            effect.gone = cut_off(replaced) if replaced is not None else []
        elif op.kind in ("unlink", "rmdir"):
            if path.name not in names:
                raise UsageError(f"{path} isn't there at that point")
            effect = add(at, parent, _Way("remove", name=path.name))
            effect.gone = cut_off(names.pop(path.name))
        else:
            raise UsageError(f"operation {at} is a {op.kind!r}: choose mkdir, create, write, truncate, fsync, ...")
    return effects, contents, start


def _torn(offset: int, data: bytes, block: int) -> list[_Way]:
    """How a write may have arrived: whole first; as zeros; cut at a block or within the last one; one block missing."""
    size = len(data)
    forms = [data, b"\0" * size]
    last = (size - 1) // block * block
    for cut in {*range(block, size, block), last + (size - last) // 2} - {0}:
        forms += [data[:cut], data[:cut] + b"\0" * (size - cut)]
    for place in range(0, size if size > block else 0, block):
        forms.append(data[:place] + b"\0" * min(block, size - place) + data[place + block :])
    return [_Way("write", offset, form) for form in dict.fromkeys(forms)]


def _tree(
    chosen: Sequence[_Way | None],
    effects: Sequence[_Effect],
    contents: Mapping[int, bytes],
    start: Mapping[int, Mapping[str, int]],
) -> Tree:
    """The disk with the chosen changes on it, from the root down."""
    files = dict(contents)
    names = {number: dict(entries) for number, entries in start.items()}
    for way, effect in zip(chosen, effects, strict=True):
        if way is None:
            continue
        if way.kind == "write":
            old = files[effect.inode].ljust(way.offset, b"\0")
            files[effect.inode] = old[: way.offset] + way.data + old[way.offset + len(way.data) :]
        elif way.kind == "truncate":
            files[effect.inode] = b""
        elif way.kind == "remove":
            names[effect.inode].pop(way.name, None)
        else:
            names[effect.inode][way.name] = way.inode
            if way.kind == "rename":
                names[way.source].pop(way.old, None)
    tree: Tree = {}

    def walk(number: int, prefix: str) -> None:
        for name, below in names[number].items():
            tree[f"{prefix}{name}"] = None if below in names else files[below]
            if below in names:
                walk(below, f"{prefix}{name}/")

    walk(0, "")
    return tree
