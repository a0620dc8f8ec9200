"""A class graded: `labkit grade` on 60 submissions of lab 01, 20 of labs 05 and 07 each, against nbgrader autograde.

nbgrader takes a quarter of an hour for that class, so it gets three submissions of each lab (one right, one mixed, one
wrong), and its time is scaled by lab. It runs in one process, so its own imports count once; where a kernel dies it
gives that submission up early, which counts for it. The last row is what checks and answers took themselves, added
up; they ran several at a time, so divided by that many it is the limit.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from benchmarks.harness import Row

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "tests" / "grading"))
LABS, COUNTS = ("01", "05", "07"), (60, 20, 20)
SAMPLE = (0, 6, 14)  # places in the class: right, mixed, wrong; a hostile one can end nbgrader (its kernel dies)
KEY = "labkit-benchmark"


def rows() -> list[Row]:
    """labkit and nbgrader on the same class, in submissions a second."""
    from classroom import make_class

    with tempfile.TemporaryDirectory() as place:
        made = make_class(Path(place), 1, LABS, COUNTS)
        seconds, alone = _labkit(Path(place))
        theirs = _nbgrader(Path(place))
    total = sum(COUNTS)
    peer = total / sum(theirs[number] * count for number, count in zip(LABS, COUNTS, strict=True))
    limit = total / alone
    assert len(made) == total
    what = f"{COUNTS[0]} + {COUNTS[1]} + {COUNTS[2]} submissions of labs {', '.join(LABS)}"
    each = ", ".join(f"{theirs[number]:.1f} s" for number in LABS)
    return [
        Row(f"nbgrader autograde ({each} each, scaled)", "submissions", [peer], []),
        Row(f"labkit grade: {what} in {seconds:.0f} s", "submissions", [total / seconds], [total / seconds / peer],
            "nbgrader autograde", 20),
        Row(f"checks and answers alone, {alone:.0f} s in all", "submissions", [limit], [limit / peer],
            "nbgrader autograde"),
    ]  # fmt: skip


def _labkit(place: Path) -> tuple[float, float]:
    """Seconds for the whole command; seconds that checks and answers took themselves, summed."""
    out = place / "marks"
    begin = time.perf_counter()
    _run([sys.executable, "-m", "labkit.cli", "grade", str(place), "--out", str(out)], ROOT)
    seconds = time.perf_counter() - begin
    records = [json.loads(line) for line in (out / "results.jsonl").read_text().splitlines()]
    return seconds, sum(record["result"]["seconds"] for record in records)


def _nbgrader(place: Path) -> dict[str, float]:
    """Seconds for a submission, by lab."""
    course = place / "course"
    course.mkdir()
    (course / "nbgrader_config.py").write_bytes((ROOT / "docs" / "nbgrader_config.py").read_bytes())
    steps, order = [], []
    for number in LABS:
        lab = next((ROOT / "notebooks").glob(f"{number}_*.ipynb"))
        source = course / "source" / lab.stem
        source.mkdir(parents=True)
        (source / lab.name).write_bytes(lab.read_bytes())
        steps.append(["generate_assignment", lab.stem])
        order.append("")
        for index in SAMPLE:
            learner = f"learner-{index:03}"
            handed_in = course / "submitted" / learner / lab.stem
            handed_in.mkdir(parents=True)
            (handed_in / lab.name).write_bytes((place / "submitted" / learner / lab.stem / lab.name).read_bytes())
            steps.append(["autograde", lab.stem, f"--student={learner}"])
            order.append(number)
    told = [
        {
            "cwd": str(course),
            "env": {"LABKIT_LEARNER": words[-1].partition("=")[2] or "nobody"},
            "words": words,
            "go_on": words[0] == "autograde",
        }
        for words in steps
    ]
    begin = time.perf_counter()
    command = [sys.executable, str(ROOT / "tests" / "grading" / "nbgrader_steps.py")]
    said = _run(command, course, json.dumps(told), LABKIT_PROGRESS=str(place / "progress.sqlite"))
    starts = [float(at) for at in re.findall(r"^step at ([\d.]+) s:", said, re.MULTILINE)]
    ends = [*starts[1:], time.perf_counter() - begin]
    took: dict[str, list[float]] = {number: [] for number in LABS}
    for number, start, end in zip(order, starts, ends, strict=True):
        if number:
            took[number].append(end - start)
    return {number: sum(found) / len(found) for number, found in took.items()}


def _run(command: Sequence[str], where: Path, given: str = "", **more: str) -> str:
    env = os.environ | {
        "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
        "OMP_NUM_THREADS": "1",
    }
    env |= {"LABKIT_COURSE_KEY": KEY} | more
    done = subprocess.run(command, cwd=where, input=given, capture_output=True, text=True, env=env, check=False)
    if done.returncode:
        raise RuntimeError(f"{' '.join(command[:4])} failed: {done.stderr[-2000:]}")
    return done.stderr
