"""200 notebooks, begun on one edition of a lab and mistreated, brought to another edition: no answer is lost, ever."""

from __future__ import annotations

import ast
import json
from pathlib import Path
from typing import Any

import labfactory
import nbformat
import pairmaker
import pytest

from labkit.course import extract, load, read_notebook
from labkit.course.updating_files import update

PAIRS = 200


def stub(source: str) -> bool:
    """Nobody has begun: nothing of a learner's in it, or remarks only. Half a function, left by a split, is begun."""
    if all(line.strip().startswith("#") for line in source.splitlines()):
        return True
    return "# thought" not in source and parses(source)


def expected_answer(exercise: str, truth: list[dict[str, Any]]) -> str | None:
    """What counts as the answer, by the stated rule and the truth about each cell; None: nothing was written."""
    places = [n for n, one in enumerate(truth) if one["role"] == "answer" and one["exercise"] == exercise]
    runs: list[list[int]] = []
    for n in places:
        joins = runs and runs[-1][-1] == n - 1 and not truth[n]["text"] and not truth[n - 1]["text"]
        runs[-1].append(n) if joins else runs.append([n])  # type: ignore[func-returns-value]
    name = exercise.replace(".", "-").replace("_", "-") + "-answer"
    held = [("\n".join(truth[n]["source"] for n in run), run) for run in runs]
    code = [(text, run) for text, run in held if not truth[run[0]]["text"]]
    as_text = [(text, run) for text, run in held if truth[run[0]]["text"] and "_seen" in text and parses(text)]
    begun = [text for text, _ in code if not stub(text)] or [text for text, _ in as_text if not stub(text)]
    code = code or as_text
    original = [text for text, run in code if any(truth[n]["id"] == name for n in run)]
    chosen = (original or [text for text, _ in code])[-1:]
    if chosen and stub(chosen[0]) and begun:
        return begun[-1]
    return chosen[0] if chosen and not stub(chosen[0]) else None


def parses(source: str) -> bool:
    try:
        ast.parse(source)
    except SyntaxError:
        return False
    return True


@pytest.mark.parametrize("seed", [n if n < 40 else pytest.param(n, marks=pytest.mark.slow) for n in range(PAIRS)])
def test_no_answer_is_lost(seed: int, tmp_path: Path) -> None:
    made = pairmaker.pair(seed, tmp_path)
    lab = load(labfactory.write(made.new, tmp_path / "new" / "77_demo.ipynb"))
    mine = labfactory.write(made.mine, tmp_path / "mine" / "77_demo.ipynb")
    before = mine.read_bytes()
    done = update(lab, mine)
    after = read_notebook(mine)
    text = "\n".join(cell["source"] for cell in after["cells"])

    # Everything that the learner wrote is in the notebook, and the notebook as it was lies beside it.
    assert [line for line in made.lines if line not in text] == []
    assert done.copy is not None
    assert done.copy.read_bytes() == before
    assert sorted(path.name for path in mine.parent.rglob("*") if path.is_file()) == sorted([mine.name, done.copy.name])

    # Each exercise has the learner's answer, or the new stub; each other cell of the lab is the new lab's.
    ids = [cell["id"] for cell in after["cells"]]
    assert len(set(ids)) == len(ids)
    by_id = {cell["id"]: cell for cell in after["cells"]}
    assert [id for id in ids if id in {cell.id for cell in lab.cells}] == [cell.id for cell in lab.cells]
    for cell in lab.cells:
        wanted = expected_answer(cell.exercise, made.truth) if cell.role == "answer" else None
        assert by_id[cell.id]["source"] == (cell.source if wanted is None else wanted)
        assert by_id[cell.id]["metadata"] == cell.metadata
        assert by_id[cell.id]["cell_type"] == cell.type
    taken = extract(mine, lab)
    assert (taken.notes, taken.missing) == ((), ())

    # The learner's own cells are there, as they were, once each.
    own = [cell for cell in after["cells"] if cell["source"] in made.own]
    assert sorted(cell["source"] for cell in own) == sorted(made.own)
    was = {cell["source"]: cell.get("outputs") for cell in made.mine["cells"]}
    assert all(cell.get("outputs") == was[cell["source"]] for cell in own)

    nbformat.validate(nbformat.reads(mine.read_text(encoding="utf-8"), as_version=4))
    assert update(lab, mine).changes == (), "a second time there is nothing to do"


def test_the_pairs_hold_what_they_are_meant_to_hold(tmp_path: Path) -> None:
    """Every mistreatment happens often enough to mean something."""
    seen = {"answered": 0, "twice": 0, "split": 0, "no ids": 0, "own": 0, "text": 0, "gone exercise": 0, "edition": 0}
    for seed in range(PAIRS):
        made = pairmaker.pair(seed, tmp_path)
        exercises = [one["exercise"] for one in made.truth if one["role"] == "answer"]
        new = {cell["metadata"].get("labkit", {}).get("exercise") for cell in made.new["cells"]}
        seen["answered"] += any(not stub(one["source"]) for one in made.truth if one["role"] == "answer")
        seen["twice"] += len(set(exercises)) < len(exercises)
        seen["no ids"] += all(one["id"] is None for one in made.truth)
        seen["own"] += bool(made.own)
        seen["text"] += any(one["text"] for one in made.truth)
        seen["gone exercise"] += bool(set(exercises) - new)
        seen["edition"] += "labkit" in made.mine["metadata"]
        pairs = zip(made.truth, made.truth[1:], strict=False)
        seen["split"] += any(a["role"] == b["role"] == "answer" and a["exercise"] == b["exercise"] for a, b in pairs)
        assert json.loads(json.dumps(made.mine)) == made.mine
    assert {what: count for what, count in seen.items() if count < 8} == {}
