"""The table of docs/checkpoints.md: every peer on the same crash states, flips and kills; run it to write the page.

python tests/resume/checkpoints_table.py            all of it, a few minutes
python tests/resume/checkpoints_table.py states     one part: states, flips or kills; writes nothing
"""

from __future__ import annotations

import logging
import os
import random
import shutil
import signal
import sys
import tempfile
import time
import warnings
from collections import Counter
from pathlib import Path

import torch
from peers import PEERS, Peer

from labkit.resume.crash_trial import FAULTY, OUTCOMES, judge_crashes

PAGE = Path(__file__).parents[2] / "docs" / "checkpoints.md"
SMALL, LARGE = 8, 40_000  # numbers in a tensor
KILLS = 60


def scratch() -> Path:
    return Path(tempfile.mkdtemp(prefix="labkit-table-", dir="/dev/shm" if Path("/dev/shm").is_dir() else None))


def states(peer: Peer) -> Counter:
    """Save 1 is long on the disk; save 2 is under way, or has just returned."""
    place = scratch()
    try:
        peer.save(place, 1, SMALL)
        before = {p.relative_to(place).as_posix(): p.read_bytes() for p in place.rglob("*") if p.is_file()}
        log = peer.record(place, 2, SMALL)
        assert peer.load(place, SMALL) == 2

        def load(directory: Path) -> int | None:
            found = peer.load(directory, SMALL)
            return found if found in (None, -1) else found - 1  # 0 is what was there

        return Counter(judge_crashes(peer.name, log, [len(log)], load, before=before).total)
    finally:
        shutil.rmtree(place)


def flips(peer: Peer) -> Counter:
    """Two saves, then one byte of one file of them changed, each in turn."""
    place, found = scratch(), Counter()
    try:
        for n in (1, 2):
            peer.save(place, n, SMALL)
        for path in sorted(p for p in place.rglob("*") if p.is_file()):
            whole = path.read_bytes()
            for at in range(len(whole)):
                path.write_bytes(whole[:at] + bytes([whole[at] ^ 0x10]) + whole[at + 1 :])
                try:
                    got = peer.load(place, SMALL)
                except Exception:
                    got = "refused"
                found[{2: "kept", 1: "older", -1: "wrong"}.get(got, "refused")] += 1
            path.write_bytes(whole)
        return found
    finally:
        shutil.rmtree(place)


def kills(peer: Peer) -> Counter:
    """A writer that saves for ever, killed at a random moment, again and again over what the last one left."""
    place, found, last, rng = scratch(), Counter(), 0, random.Random(5)
    try:
        for _ in range(KILLS):
            out, into = os.pipe()
            child = os.fork()
            if child == 0:
                try:
                    n = last + 1
                    while True:
                        peer.save(place, n, LARGE)
                        os.write(into, b"x")
                        n += 1
                finally:
                    os._exit(9)
            os.close(into)
            time.sleep(rng.uniform(0.005, 0.15))
            os.kill(child, signal.SIGKILL)
            status = os.waitpid(child, 0)[1]
            assert os.WIFSIGNALED(status), f"{peer.name}: the writer ended by itself"
            promised = last + len(os.read(out, 1 << 20))
            os.close(out)
            try:
                got = peer.load(place, LARGE)
            except Exception:
                got = "refused" if promised else None
            if got is None:
                found["lost" if promised else "nothing yet"] += 1
            elif got in ("refused", -1):
                found["wrong" if got == -1 else "refused"] += 1
                last = promised
                shutil.rmtree(place)  # start afresh: from here on it would be found again and again
                place.mkdir()
                last = 0
            else:
                found["lost" if got < promised else "kept" if got == promised else "newer"] += 1
                last = got
        return found
    finally:
        shutil.rmtree(place)


PARTS = {"states": states, "flips": flips, "kills": kills}
VERSION = torch.__version__.split("+")[0]
OPENING = f"""# Checkpoints that survive

`labkit.resume.Store` beside torch's distributed checkpoint (DCP, torch {VERSION}) and plain `torch.save`, on the same
harness. Written by `python tests/resume/checkpoints_table.py`, from a run of all of it.

- **Crash states**: save 1 is on the disk, save 2 under way or just returned. Every state that a power cut may leave
  behind is laid out and loaded from: every prefix of the recorded operations, every subset of what wasn't made durable,
  writes torn, zeroed or lacking a block (`labkit.resume.crash_states`).
- **Flips**: two saves of 3 tensors with {SMALL} numbers each; one bit of one byte is turned, each byte in turn.
- **Kills**: SIGKILL at a random moment of an endless series of saves, {KILLS} times. It leaves the page cache whole, so
  it says nothing about power cuts.

A save is promised once its call has returned. *Wrong*: loads, without a word, what was never saved. *Lost*: loads,
without a word, less than was promised. *Refused*: raises, although a promised save was there. *Right*: the promised
save, or a newer whole one; under flips, also the older save, with the reason.

"""
CLOSING = """
How the peers were used: DCP with its `FileSystemWriter` as it comes (files are fsynced, `.metadata` is written last);
"a directory a step" loads the newest that has `.metadata`; "one directory" saves to the same place each time;
"a file a tensor" is `single_file_per_rank=False`. DCP has no checksums and no fallback, and leaves keeping older
checkpoints to its caller; its own documentation asks for an empty directory. The Store's price is in
`benchmarks/RESULTS.md`: it reads back everything that it writes.

## What the Store does

1. Encode the state: a JSON tree (`state.json`) and safetensors files of 256 MiB or one tensor each. No pickle anywhere,
   so loading a checkpoint from a stranger runs no code.
2. Write each file under a directory with a name that was never used, fsync it, drop it from the page cache, read it
   back and compare its SHA-256.
3. fsync the directory; write the manifest (sizes and checksums of all files, and of itself) there in the same way.
4. Publish: `link` the manifest to `manifests/<number>.json`, which fails where another process has taken that number;
   then the next one is tried. fsync `manifests`. From here on it is a checkpoint.
5. Remove what is older than `keep` checkpoints that verify (manifest first, then files), and, if nobody is saving (a
   lock that dies with its process), what unfinished saves left.

Loading goes from the highest number down to the first that verifies, and says why it passed over the others. A whole
manifest from a newer labkit raises instead: passing over it would lose progress in silence.

## Object stores

`Store(ObjectBackend(fsspec.filesystem("s3"), "bucket/run"))`. There is no rename in an object store, so step 4 is a PUT
that succeeds only where the key doesn't exist (`mode="create"`: If-None-Match on S3, generation 0 on Google Cloud
Storage). A file system that overwrites instead is refused when the backend is made: it is asked to create one key
twice. A PUT whose answer was lost is recognised by its content. Files of saves that never finished stay, since nobody
can know that their writer is dead; `labkit store verify` counts those of a local store.

## What it doesn't do

- A disk that says fsync is done when it isn't, or that damages all of `keep` checkpoints: nothing local survives that.
- Sharded saves by many ranks: each rank has a Store of its own, or rank 0 saves for all.
- File systems without hard links: saving says so in one line.
"""


def cell(found: Counter, keys: tuple[str, ...]) -> str:
    return str(sum(found[key] for key in keys))


def main(words: list[str]) -> None:
    torch.set_num_threads(1)
    logging.disable()  # DCP logs a traceback for each checkpoint that it can't read
    warnings.simplefilter("ignore")
    parts = {name: PARTS[name] for name in words or PARTS}
    tables = []
    for name, run in parts.items():
        rows = ["| | tried | wrong | lost | refused | right |", "|---|---|---|---|---|---|"]
        for peer in PEERS:
            begin, found = time.perf_counter(), run(peer)
            right = tuple(key for key in (*OUTCOMES, "older") if key not in FAULTY)
            tried = sum(found.values())
            values = [str(tried), *(cell(found, (key,)) for key in FAULTY), cell(found, right)]
            rows.append(f"| {peer.name} | {' | '.join(values)} |")
            print(f"{name}: {peer.name}: {dict(found)} in {time.perf_counter() - begin:.1f} s", flush=True)
        tables.append(f"## {name.capitalize()}\n\n" + "\n".join(rows) + "\n")
    if not words:
        PAGE.write_text(OPENING + "\n".join(tables).replace("## States", "## Crash states") + CLOSING, encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
