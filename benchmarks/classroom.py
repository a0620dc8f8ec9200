"""What a class costs: `python -m benchmarks classroom` lets simulated learners work on a real hub, and measures.

Each logs in over HTTP, gets a server through the hub, pulls the course and runs lab 01 with right answers, from its
first cell to its last check, all at the same time: once with forked kernels, once with ordinary ones. Then one learner
alone runs labs 04 and 08, and the board is asked for with 300 learners' records. Needs root, the proxy, and the machine
for itself. Results are kept in results/classroom.json; --write lays the table into docs/classroom.md.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import re
import secrets
import shutil
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from benchmarks.classroom_learner import Learner, memory
from labkit.checks.registry import exercises
from labkit.hub import accounts
from labkit.hub.board_state import Board
from labkit.hub.running import free_ports

HERE = Path(__file__).parent
RESULTS = HERE / "results" / "classroom.json"
PAGE = HERE.parent / "docs" / "classroom.md"
PARTS = ("forked", "ordinary", "alone", "board")
BIG = 300
PATIENCE = 220.0


def main(words: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks classroom", description=__doc__)
    parser.add_argument("--learners", type=int, default=20, help="how many at once (default 20)")
    parser.add_argument("--only", action="append", choices=PARTS, help="may be repeated; else all parts")
    parser.add_argument("--write", action="store_true", help="lay the table into docs/classroom.md")
    how = parser.parse_args(words)
    if how.learners < 1:
        parser.error(f"--learners is {how.learners}: give 1 or more")
    if os.geteuid():
        parser.error("accounts for the learners need root")
    kept: dict[str, Any] = json.loads(RESULTS.read_text()) if RESULTS.exists() else {}
    for part in how.only or PARTS:
        kept[part] = {
            "forked": lambda: class_at_once(how.learners, "--fork-kernels"),
            "ordinary": lambda: class_at_once(how.learners, "--ordinary-kernels"),
            "alone": alone,
            "board": board_of_many,
        }[part]()
        print(json.dumps({part: kept[part]}), flush=True)
        RESULTS.parent.mkdir(exist_ok=True)
        RESULTS.write_text(json.dumps(kept, indent=1) + "\n")
    text = table(kept)
    print(text)
    if how.write:
        begin, end = (re.escape(mark) for mark in ("<!-- sizes: written by python -m benchmarks classroom --write -->",
                                                   "<!-- /sizes -->"))  # fmt: skip
        page = PAGE.read_text(encoding="utf-8")
        PAGE.write_text(
            re.sub(f"({begin}).*({end})", lambda m: f"{m[1]}\n\n{text}\n\n{m[2]}", page, flags=re.DOTALL), "utf-8"
        )
    return 1 if any(part.get("failures") for part in kept.values()) else 0


@contextlib.contextmanager
def hub(
    names: list[str], *options: str, before: Callable[[Path], None] = lambda place: None
) -> Iterator[tuple[str, Path, str]]:
    """`labkit hub` as a teacher runs it: its address, its directory, what it printed. The accounts go with it."""
    place = Path(tempfile.mkdtemp(prefix="labkit-bench-", dir="/srv"))
    place.chmod(0o711)
    before(place)
    printed = place.with_suffix(".out")
    teacher = f"lkteach{secrets.token_hex(2)}"
    port = free_ports(1)[0]
    people = [f"--learner={name}" for name in names] + [f"--teacher={teacher}"]
    line = [sys.executable, "-m", "labkit.cli", "hub", f"--dir={place}", f"--port={port}", *people, *options]
    process = None
    try:
        with printed.open("wb") as out:
            process = subprocess.Popen(line, stdout=out, stderr=out)
        end = time.monotonic() + 180
        while b"is open at" not in printed.read_bytes():
            if process.poll() is not None or time.monotonic() > end:
                raise RuntimeError(printed.read_text())
            time.sleep(0.1)
        yield f"http://127.0.0.1:{port}", place, printed.read_text()
    finally:
        if process is not None:
            process.terminate()
            process.wait(90)
        accounts.remove([*names, teacher])
        shutil.rmtree(place, ignore_errors=True)
        printed.unlink(missing_ok=True)


def class_at_once(count: int, kernels: str) -> dict[str, Any]:
    """`count` learners at once, from the log-in to the last check of lab 01."""
    mark = secrets.token_hex(2)
    names = [f"lk{mark}n{number:02}" for number in range(count)]
    with hub(names, kernels) as (address, place, _):
        passwords = accounts.read(place)
        learners = [Learner(address, name, passwords[name]) for name in names]
        idle: list[float] = []

        def work(learner: Learner) -> None:
            try:
                learner.arrive()
                learner.pull(f"file://{place}/course/labkit-course")
            except Exception:
                together.abort()  # the others go on without
                raise
            with contextlib.suppress(threading.BrokenBarrierError):
                together.wait(PATIENCE)
            learner.lab("01", learner.kernel())

        together = threading.Barrier(count, action=lambda: idle.extend(memory(name, 0)["server"] for name in names))
        begin = time.perf_counter()
        each(learners, work)
        wall = time.perf_counter() - begin
        used = [memory(one.name, one.kernel_pid) for one in learners if one.kernel_pid]
    return {
        "learners": count,
        "cores": len(os.sched_getaffinity(0)),
        "wall_s": wall,
        "failures": [f"{one.name}: {what}" for one in learners for what in one.failures],
        "times_s": {
            what: spread([one.times[what] for one in learners if what in one.times])
            for what in ("log-in", "server", "course", "kernel", "lab 01")
        },
        "idle_server_mib": spread(idle),
        "memory_mib": {what: spread([one[what] for one in used]) for what in ("server", "kernel", "parent")},
    }


def each(learners: list[Learner], work: Callable[[Learner], None]) -> None:
    """All at the same time; whatever goes wrong is that learner's failure."""

    def guarded(learner: Learner) -> None:
        try:
            work(learner)
        except Exception as error:
            learner.failures.append(f"{type(error).__name__}: {error}")

    threads = [threading.Thread(target=guarded, args=(one,), daemon=True) for one in learners]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def alone() -> dict[str, Any]:
    """One learner: the most that a server with labs 01, 04 (four ranks) and 08 takes, sampled while it works."""
    name = f"lk{secrets.token_hex(2)}"
    found: dict[str, Any] = {"failures": []}
    with hub([name], "--fork-kernels") as (address, place, _):
        learner = Learner(address, name, accounts.read(place)[name])
        learner.arrive()
        learner.pull(f"file://{place}/course/labkit-course")
        time.sleep(2)
        found["idle_server_mib"] = memory(name, 0)["server"]
        for number in ("01", "04", "08"):
            kernel = learner.kernel()
            most, done = [0.0], threading.Event()

            def sample(most: list[float] = most, done: threading.Event = done) -> None:
                while not done.wait(0.4):
                    most[0] = max(most[0], sum(memory(name, 0).values()))

            sampler = threading.Thread(target=sample)
            sampler.start()
            learner.lab(number, kernel)
            done.set()
            sampler.join()
            kernel.end()
            found[f"lab_{number}_most_mib"] = most[0]
            found[f"lab_{number}_s"] = learner.times[f"lab {number}"]
        found["failures"] = learner.failures
    return found


def board_of_many() -> dict[str, Any]:
    """The teacher's page with 300 learners who did a third of the labs, as a browser gets it through hub and proxy."""
    names = [f"learner{number:03}" for number in range(BIG)]
    with hub(names, "--shared", before=lambda place: fill(place, names)) as (address, place, said):
        teacher = re.search(r"lkteach\w+", (place / "classroom.json").read_text())
        password = re.search(r"password is ([\w-]+)", said)
        if not (teacher and password):
            raise RuntimeError(said)
        tess = Learner(address, teacher[0], password[1])
        tess.log_in("/services/board/")
        pages = {}
        for what, path in (("class", ""), ("one lab", "?lab=01"), ("one learner", f"learner/{names[0]}")):
            times = []
            for _ in range(15):
                begin = time.perf_counter()
                page = tess.page(f"/services/board/{path}")
                times.append((time.perf_counter() - begin) * 1000)
            pages[what] = {"ms": spread(times), "kib": len(page) / 1024}
    return {"learners": BIG, "records": BIG * RECORDS, "pages": pages}


RECORDS = 20


def fill(place: Path, names: list[str]) -> None:
    """20 records a learner, some failed, as the board keeps them."""
    board, chosen = Board(place), exercises()[:RECORDS]
    for number, name in enumerate(names):
        records = []
        for index, one in enumerate(chosen):
            good = (number * 7 + index * 3) % 5 > 0
            at = datetime.now(UTC) - timedelta(minutes=number % 50 + len(chosen) - index)
            seen = {"claim": f"what {one.id} asks", "ok": good, "observed": "1", "expected": "2", "mistake": "",
                    "next_step": "look again"}  # fmt: skip
            records.append({"exercise": one.id, "verdict": "passed" if good else "failed", "points": one.points * good,
                            "max_points": one.points, "device": "cpu", "evidence": [seen], "seconds": 0.1,
                            "learner": name, "at": at.isoformat(), "version": "1"})  # fmt: skip
        board.take(name, records)


def spread(values: list[float]) -> dict[str, float]:
    """Median and the largest."""
    return {"median": statistics.median(values), "most": max(values)} if values else {}


def table(kept: dict[str, Any]) -> str:
    """What was measured, for the page."""
    lines: list[str] = []
    both = [(name, kept[name]) for name in ("forked", "ordinary") if name in kept]
    if both:
        lines += ["| a class at once | " + " | ".join(f"{name} kernels" for name, _ in both) + " |"]
        lines += ["|---|" + "---|" * len(both)]
        rows: list[tuple[str, Callable[[dict[str, Any]], str]]] = [
            ("learners, cores", lambda part: f"{part['learners']} on {part['cores']}"),
            ("failed, of log-ins, pulls, kernels, checks", lambda part: f"{len(part['failures'])}"),
            ("all of it, log-in to last check of lab 01", lambda part: f"{part['wall_s']:.0f} s"),
        ]
        named = {"log-in": "log-in", "server": "asked for a server, until it answers", "course": "course pulled",
                 "kernel": "asked for a kernel, until its first torch cell is done",
                 "lab 01": "lab 01, every cell, answered"}  # fmt: skip
        rows += [(words, lambda part, what=what: told(part["times_s"][what], "s")) for what, words in named.items()]
        rows += [("memory: server, before any kernel", lambda part: told(part["idle_server_mib"], "MiB"))]
        rows += [
            (f"memory after lab 01: {words}", lambda part, what=what: told(part["memory_mib"][what], "MiB"))
            for what, words in (("server", "server"), ("kernel", "kernel"), ("parent", "parent of forked kernels"))
        ]
        rows += [
            ("a learner after lab 01 *(computed: the sum of these medians)*", lambda part: f"{whole(part):.0f} MiB")
        ]
        lines += [f"| {words} | " + " | ".join(cell(part) for _, part in both) + " |" for words, cell in rows]
        lines += ["", "Measured here; median, and the largest in brackets. All learners do the same thing at the same"
                  " moment, which no class does: people come over minutes and think between cells."]  # fmt: skip
    if "alone" in kept:
        part = kept["alone"]
        lines += ["", "| one learner alone, forked kernels | most memory, with the server (measured) | took |",
                  "|---|---|---|", f"| idle server | {part['idle_server_mib']:.0f} MiB | |"]  # fmt: skip
        lines += [
            f"| lab {number}{words} | {part[f'lab_{number}_most_mib']:.0f} MiB | {part[f'lab_{number}_s']:.0f} s |"
            for number, words in (("01", ""), ("04", ", up to four ranks"), ("08", ""))
        ]
    if "board" in kept:
        part = kept["board"]
        pages = (f"{what} {told(one['ms'], 'ms')}, {one['kib']:.0f} KiB" for what, one in part["pages"].items())
        many = f"{part['learners']} learners and {part['records']} records"
        lines += ["", f"The board with {many}, a page through hub and proxy (measured): {'; '.join(pages)}."]
    return "\n".join(lines)


def whole(part: dict[str, Any]) -> float:
    """MiB of a learner, parts added."""
    return float(sum(one.get("median", 0) for one in part["memory_mib"].values()))


def told(spread: dict[str, float], unit: str) -> str:
    if not spread:
        return "none"
    digits = 1 if unit == "s" and spread["median"] < 10 else 0
    return f"{spread['median']:.{digits}f} {unit} ({spread['most']:.{digits}f})"
