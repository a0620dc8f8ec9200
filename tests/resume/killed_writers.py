"""Writers that are killed (SIGKILL) at random moments of their saves, and what a load finds after each kill.

The writer is a fork of a process without torch, so that a kill costs milliseconds. Save n holds values that all follow
from n, so that a mix of two saves shows.
"""

from __future__ import annotations

import os
import random
import signal
import struct
import sys
import time
from collections import Counter
from pathlib import Path

import numpy as np

from labkit.resume.store import Store


def state(n: int) -> dict:
    sizes = random.Random(n).sample(range(1, 60_000), 4)
    return {"n": n, "arrays": [np.full(size, float(n)) for size in sizes], "text": f"{n}" * 500, "last": n}


def is_whole(found: dict) -> bool:
    n = found["n"]
    sizes = random.Random(n).sample(range(1, 60_000), 4)
    arrays = found["arrays"]
    same = [len(array) for array in arrays] == sizes and all((array == n).all() for array in arrays)
    return same and found["text"] == f"{n}" * 500 and found["last"] == n


def write(place: Path, start: int, promised: int, how: str) -> None:
    """Save start, start + 1, ... for ever; each number is written to the pipe once its save is promised."""
    store, n, pending = Store(place, keep=2), start, None
    while True:
        if how == "async":
            following = store.async_save(state(n), n)
            if pending is not None:
                os.write(promised, struct.pack("<q", pending.result().step))  # async_save has waited for it
            pending = following
        else:
            os.write(promised, struct.pack("<q", store.save(state(n), n).step))
        n += 1


def kill_one(place: Path, start: int, how: str, delay: float, *, wait: bool) -> int:
    """Fork a writer, let it work, kill it; the last save that it had promised, or 0. wait: for its first promise."""
    out, into = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            os.close(out)
            write(place, start, into, how)
        finally:
            os._exit(9)
    os.close(into)
    said = os.read(out, 8) if wait else b""
    time.sleep(delay)
    os.kill(child, signal.SIGKILL)
    status = os.waitpid(child, 0)[1]
    assert os.WIFSIGNALED(status), "the writer ended by itself"
    while piece := os.read(out, 65536):
        said += piece
    os.close(out)
    return max((n for (n,) in struct.iter_unpack("<q", said[: len(said) // 8 * 8])), default=0)


def trial(place: Path, kills: int, how: str, seed: int) -> Counter:
    """One store, killed again and again; a tally of what each load found."""
    rng, found, last, promised = random.Random(seed), Counter(), 0, 0
    for _ in range(kills):
        promised = max(promised, kill_one(place, last + 1, how, rng.uniform(0.001, 0.06), wait=rng.random() < 0.5))
        got = Store(place, keep=2).load()
        if got is None:
            found["nothing yet" if promised == 0 else "lost"] += 1
            continue
        if not is_whole(got.state) or got.state["n"] != got.step:
            found["wrong"] += 1
        elif got.step < promised:
            found["lost"] += 1
        else:
            found["newer" if got.step > promised else "kept"] += 1
        found["passed over"] += len(got.passed_over)
        last = promised = got.step
    found["saves"] = last
    return found


if __name__ == "__main__":
    print(dict(trial(Path(sys.argv[1]), int(sys.argv[2]), sys.argv[3], int(sys.argv[4]))))
