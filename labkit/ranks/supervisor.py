"""The process above one group of ranks: serves its caller's jobs, tells what went wrong, leaves nothing."""

from __future__ import annotations

import json
import os
import selectors
import shutil
from dataclasses import asdict
from typing import Any

from labkit.ranks import stacks, tree
from labkit.ranks.group import CALLER, Group, Start
from labkit.ranks.protocol import Channel, blob
from labkit.ranks.verdict import Verdict


def supervise(caller: Channel, ranks: int, backend: str, start: Start, folder: str, server: int | None) -> None:
    """Serve jobs of one caller until it hangs up, asks for a last one, or a job goes wrong; nothing is left then."""
    tree.adopt_orphans()
    watch = selectors.DefaultSelector()
    watch.register(caller, selectors.EVENT_READ)
    if server is not None:
        watch.register(server, selectors.EVENT_READ)
    group = Group(ranks, backend, start, folder)
    group.selector.register(watch.fileno(), selectors.EVENT_READ, CALLER)
    kindly = True
    try:
        while (received := _next_job(watch, caller, server)) is not None:
            message, fds = received
            found = group.job(fds[0], message["timeout"], lambda: bool(watch.select(0)))
            os.close(fds[0])
            traceback = _traceback(group, found) if found else ""
            kindly = found is None
            last = bool(found) or message["last"] or not group.whole or any(r.ended for r in group.ranks)
            if last:
                group.end(kindly=kindly)
                shutil.rmtree(folder, ignore_errors=True)
            _answer(caller, group, found, traceback, last)
            if last:
                return
    finally:
        group.end(kindly=kindly)
        shutil.rmtree(folder, ignore_errors=True)


def _next_job(
    watch: selectors.BaseSelector, caller: Channel, server: int | None
) -> tuple[dict[str, Any], list[int]] | None:
    """The caller's next message; None once the caller or the server is gone."""
    if any(key.fd == server for key, _ in watch.select()):
        return None
    return caller.receive()


def _traceback(group: Group, found: Verdict) -> str:
    if found.cause == "lost":
        return ""
    failures = {r.number: r.failure for r in group.ranks if r.failure}
    if found.cause in ("raised", "unsendable"):
        return failures[found.rank].traceback
    if found.cause == "unequal" and failures:
        rank = min(failures)
        return f"rank {rank}:\n{failures[rank].traceback}"
    dumps = group.dumps() if found.cause == "died" else group.stacks()
    waiting = [n for n in sorted(dumps) if group.board["op"][n]][:1] if found.cause == "unequal" else []
    wanted = sorted({found.rank, *waiting})
    told = {n: stacks.from_dump(dumps[n]) for n in wanted if group.ranks[n].result is None}
    return "\n".join(f"rank {n}:\n{stack}" for n, stack in told.items() if stack)


def _answer(caller: Channel, group: Group, found: Verdict | None, traceback: str, last: bool) -> None:
    report = {
        "heavy": sorted(group.heavy),
        "printed": group.printed(),
        "last": last,
        "traceback": traceback,
        "verdict": asdict(found) if found else None,
    }
    fds = [blob(json.dumps(report).encode())]
    if found is None:
        fds += [rank.result for rank in group.ranks if rank.result is not None]
    caller.send({"answer": True}, fds)
    for fd in fds:
        os.close(fd)
