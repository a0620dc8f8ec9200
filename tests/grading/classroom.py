"""A class of learners, made up: submissions of real labs, mixed right, wrong, blank and hostile.

    made = make_class(directory, seed=1, labs=("01", "05", "07"), counts=(60, 20, 20))

writes nbgrader's tree, `directory/submitted/LEARNER/LAB/LAB.ipynb`, and says which exercises must pass. The answers are
those of tests/answers; the same arguments give the same bytes.
"""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from labkit.course import Answer, Lab, lay, load, read_answer_file, write_notebook

ROOT = Path(__file__).parents[2]
KINDS = ("right", "mixed", "wrong", "blank", "hostile")
SHARES = (6, 8, 2, 2, 2)  # of twenty learners

# Each goes in place of an answer and must cost that exercise alone. All end at once: what is timed is the grader.
HOSTILE = {
    "leaves": "import sys\nsys.exit(0)",
    "leaves at once": "import os\nos._exit(0)",
    "kills itself": "import os, signal\nos.kill(os.getpid(), signal.SIGKILL)",
    "patches the check": "import labkit\nlabkit.check = check = lambda *a, **k: None",
    "raises": "raise RuntimeError('=1+1 <script>alert(1)</script>')",
    "not Python": "serial = (1,\n",
    "floods": "print('x' * 1_000_000)",
    "an interrupt": "raise KeyboardInterrupt",
}
ENDLESS = "while True:\n    pass"


@dataclass(frozen=True)
class Submission:
    """One notebook of the class.

    learner, lab (its number), kind (one of KINDS), path.
    expected: exercise id -> whether its mark must be full; all others of the lab must be zero.
    answers: exercise id -> name of the answer laid in ("blank" where there is none).
    """

    learner: str
    lab: str
    kind: str
    path: Path
    expected: Mapping[str, bool]
    answers: Mapping[str, str]


@cache
def lab(number: str) -> Lab:
    """The pristine lab."""
    return load(next((ROOT / "notebooks").glob(f"{number}_*.ipynb")))


@cache
def answers(number: str) -> Mapping[str, tuple[Answer, ...]]:
    """Every answer of a lab's exercises."""
    files = sorted((ROOT / "tests" / "answers" / number).glob("*.py"))
    return {found[0].exercise: tuple(found) for file in files if (found := read_answer_file(file))}


def make_class(
    directory: Path, seed: int, labs: Sequence[str], counts: Sequence[int], *, endless: int = 0
) -> list[Submission]:
    """Write a class's submissions; the learners of the labs overlap, as in a real one.

    labs: their numbers. counts: submissions of each. endless: how many of the hostile answers never end; each costs a
    grader the whole time limit.
    """
    made = []
    for number, count in zip(labs, counts, strict=True):
        rng = random.Random(f"{seed}/{number}")
        kinds = [KINDS[i] for i, share in enumerate(SHARES) for _ in range(share)]
        for index in range(count):
            kind = kinds[index % len(kinds)]
            looping = kind == "hostile" and endless > 0
            endless -= looping
            made.append(_submission(directory, f"learner-{index:03}", number, kind, rng, looping))
    return made


def _submission(directory: Path, learner: str, number: str, kind: str, rng: random.Random, looping: bool) -> Submission:
    pristine = lab(number)
    chosen = {name: _choose(found, kind, rng) for name, found in answers(number).items()}
    if kind == "hostile":
        victim = rng.choice(sorted(chosen))
        name, code = rng.choice(sorted(HOSTILE.items()))
        name, code = ("never ends", ENDLESS) if looping else (name, code)
        chosen[victim] = Answer(victim, False, name, "", {pristine.exercise(victim).answer[0]: code})
    sources = {name: answer.sources for name, answer in chosen.items() if answer is not None}
    path = directory / "submitted" / learner / pristine.stem / f"{pristine.stem}.ipynb"
    path.parent.mkdir(parents=True, exist_ok=True)
    write_notebook(lay(pristine, sources), path)
    return Submission(
        learner,
        number,
        kind,
        path,
        {name: answer is not None and answer.right for name, answer in chosen.items()},
        {name: answer.name if answer else "blank" for name, answer in chosen.items()},
    )


def _choose(found: Sequence[Answer], kind: str, rng: random.Random) -> Answer | None:
    right = [answer for answer in found if answer.right]
    wrong = [answer for answer in found if not answer.right]
    if kind in ("right", "hostile"):
        return rng.choice(right)
    if kind == "wrong":
        return rng.choice(wrong)
    if kind == "blank":
        return None
    return rng.choice((rng.choice(right), rng.choice(right), rng.choice(wrong), None))
