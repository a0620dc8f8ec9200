"""What the runs of the cheats in other graders share: which attacks, in which notebook, and the row of the table."""

from __future__ import annotations

import os
import re
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "tests" / "grading"))

from arena import KEY, notebook, reference  # noqa: E402
from cheats import experiment_attacks, judge_attacks, outside_attacks, process_attacks  # noqa: E402
from cheats.attack import Attack  # noqa: E402

from labkit.course import load  # noqa: E402

__all__ = [
    "HONEST",
    "ROOT",
    "Attack",
    "assignment",
    "attacked",
    "blank",
    "environ",
    "printed",
    "put_canary",
    "row",
    "small",
    "tame",
]

HONEST = {"01": "pipeline.waits", "05": "metrics.mean_of_means", "07": "resume.target"}
READ_ONLY = re.compile(
    "registry|checks' |reference answers|gc$|frames|course key|environments|gradebook and|abstract|judge's machine"
)
ENDS = re.compile("sys.exit|os._exit|SIGKILL to itself|segmentation|os.abort")
TOO_LARGE = re.compile("deep|holds itself|200 MB|ten million|writes what|torch$|poisoned")


def tame() -> list[Attack]:
    """Attacks that a machine without a sandbox survives: those that kill, flood or write are left out."""
    kept = [a for a in judge_attacks.ATTACKS if not TOO_LARGE.search(a.name)] + experiment_attacks.ATTACKS
    kept += [a for a in outside_attacks.ATTACKS if a.chapter == "secrets" and READ_ONLY.search(a.name)]
    kept += [a for a in process_attacks.ATTACKS if ENDS.search(a.name)]
    return list(kept)


def small(number: str, exercises: dict[str, str]) -> dict[str, Any]:
    """The lab with its setup and these exercises alone; answers by exercise."""
    lab = load(notebook(number))
    made = lab.notebook()
    kept = []
    for cell in made["cells"]:
        mine = cell["metadata"].get("labkit", {})
        if mine.get("role") == "setup" or mine.get("exercise") in exercises:
            kept.append(cell)
            code = exercises.get(mine.get("exercise"), "") if mine.get("role") == "answer" else ""
            if code and cell["id"] == lab.exercise(mine["exercise"]).answer[0]:
                cell["source"] = code
            if mine.get("role") == "draw":
                kept.pop()
    return made | {"cells": kept}


def assignment(attack: Attack) -> str:
    """The name of the notebook with the attacked exercise and the honest one."""
    return f"a{attack.lab}_{attack.exercise.replace('.', '_')}"


def blank(attack: Attack) -> dict[str, Any]:
    """What the learner is given."""
    return small(attack.lab, {attack.exercise: "", HONEST[attack.lab]: ""})


def attacked(attack: Attack, canary: Path) -> dict[str, Any]:
    """The attack's submission, with an honest answer beside it."""
    code = attack.code.replace("@CANARY@", str(canary)).replace("@PORT@", "9").replace("@SHM@", "labkit-x")
    code = code.replace("@JUDGE@", str(os.getpid())).replace("@ABSTRACT@", "labkit-x")
    honest = HONEST[attack.lab]
    return small(attack.lab, {attack.exercise: code, honest: reference(honest, attack.lab)})


def put_canary(folder: Path) -> Path:
    """A gradebook and another submission, for attacks to find; gives their folder."""
    (folder / "other").mkdir(parents=True)
    (folder / "gradebook.json").write_text('{"ben": 100}')
    (folder / "other" / "submission.ipynb").write_text('{"answer": 42}')
    return folder


def environ(folder: Path) -> dict[str, str]:
    """The environment of a grader's command: learner, key, progress in `folder`; PATH, as some call tools by name."""
    return {
        **os.environ,
        "PATH": os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]]),
        "LABKIT_LEARNER": "ada",
        "LABKIT_COURSE_KEY": KEY.decode(),
        "LABKIT_PROGRESS": str(folder / "progress.sqlite"),
    }


def mark(score: float | None) -> str:
    """One mark in words; None where the grader gave none."""
    return "no mark at all" if score is None else "full mark" if score else "no mark"


def printed(executed: dict[str, Any]) -> str:
    """What an executed notebook printed."""
    outputs = [output for cell in executed["cells"] for output in cell.get("outputs", [])]
    return "\n".join("".join(output.get("text", "")) for output in outputs)


def row(attack: Attack, mine: float | None, out: bool, honest: float | None) -> str:
    """Whether it gained a mark, got what it wanted, and what became of the honest answer."""
    return f"| {attack.chapter} | {attack.name} | {mark(mine)} | {'yes' if out else 'no'} | {mark(honest)} |"
