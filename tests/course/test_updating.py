"""`labkit update`, rule by rule; and killed at every step, it leaves the old notebook or the new one."""

from __future__ import annotations

import copy
import json
import os
import signal
import sys
from datetime import datetime
from pathlib import Path
from typing import Any

import labfactory
import pytest

from labkit.cli import main
from labkit.course import load, read_notebook
from labkit.course.updating_files import COPIES, update
from labkit.errors import LabkitError, UsageError

ANSWER = "total = 16  # six and ten"


def begun(**changes: str) -> dict[str, Any]:
    """A notebook in which demo.total is answered; changes: source by the cell's id, _ for -."""
    raw = labfactory.lab()
    labfactory.cell(raw, "demo-total-answer")["source"] = ANSWER
    for cell, source in changes.items():
        labfactory.cell(raw, cell.replace("_", "-"))["source"] = source
    return raw


@pytest.fixture
def places(tmp_path, monkeypatch):
    """The new lab's file and the learner's, both to be written."""
    monkeypatch.chdir(tmp_path)
    return tmp_path / "new" / "77_demo.ipynb", tmp_path / "mine" / "77_demo.ipynb"


def brought(places: tuple[Path, Path], new: dict[str, Any], mine: dict[str, Any]) -> tuple[dict[str, Any], list[str]]:
    """The learner's notebook after the update, and what was said."""
    labfactory.write(new, places[0])
    labfactory.write(mine, places[1])
    done = update(load(places[0]), places[1])
    return read_notebook(places[1]), list(done.changes)


def sources(notebook: dict[str, Any]) -> dict[str, str]:
    return {cell["id"]: cell["source"] for cell in notebook["cells"]}


def test_a_better_text_comes_and_the_answer_stays(places):
    new = labfactory.lab()
    labfactory.cell(new, "between")["source"] = "A better sentence."
    labfactory.cell(new, "demo-double-it-answer")["source"] = "def double(value):\n    raise NotImplementedError"
    after, said = brought(places, new, begun())
    assert sources(after) == sources(new) | {"demo-total-answer": ANSWER}
    assert "cell between: the lab's text" in said


def test_a_new_exercise_comes_and_the_answer_to_one_that_is_gone_stays_readable(places):
    new = labfactory.lab()
    new["cells"] = [c for c in new["cells"] if c["metadata"].get("labkit", {}).get("exercise") != "demo.total"]
    new["cells"] += labfactory.exercise_cells("demo.more", answer="more = ...", check='check("demo.more", more)')
    after, said = brought(places, new, begun(demo_double_it_answer="def double(x):\n    return 2 * x"))
    kept = next(cell for cell in after["cells"] if ANSWER in cell["source"])
    assert kept["cell_type"] == "markdown", "its figures are gone: it mustn't run"
    assert kept["source"].startswith("Your earlier answer to `demo.total`:")
    assert sources(after)["demo-double-it-answer"].endswith("return 2 * x")
    assert sources(after)["demo-more-answer"] == "more = ..."
    assert "demo.total: no longer in the lab; your answer stays as text" in said


def test_outputs_stay_where_nothing_that_made_them_has_changed(places):
    def run(raw: dict[str, Any]) -> dict[str, Any]:
        for number, cell in enumerate(raw["cells"]):
            if cell["cell_type"] == "code":
                cell["outputs"] = [{"output_type": "stream", "name": "stdout", "text": cell["id"]}]
                cell["execution_count"] = number
        return raw

    def shown(notebook: dict[str, Any]) -> set[str]:
        return {cell["id"] for cell in notebook["cells"] if cell.get("outputs")}

    every = {"demo-total-" + part for part in ("given", "answer", "draw", "check")}
    other = {"demo-double-it-" + part for part in ("given", "answer", "draw", "check")}
    new = labfactory.lab()
    labfactory.cell(new, "between")["source"] = "A better sentence."
    after, _ = brought(places, new, run(begun()))
    assert shown(after) == {"setup"} | every | other
    labfactory.cell(new, "demo-total-given")["source"] = "figures = [1, 2]"
    after, _ = brought(places, new, run(begun()))
    assert shown(after) == {"setup"} | other, "an old verdict on new figures would mislead"
    labfactory.cell(new, "setup")["source"] = "offset = 5"
    after, _ = brought(places, new, run(begun()))
    assert shown(after) == set()


def test_an_exercise_damaged_in_every_way_is_whole_again(places):
    mine = begun()
    cells = mine["cells"]
    answer = labfactory.cell(mine, "demo-total-answer")
    second = copy.deepcopy(answer) | {"id": "3f2a9c1e", "source": "total = 17"}
    check = copy.deepcopy(labfactory.cell(mine, "demo-total-check")) | {"id": "b7d1c2aa"}
    cells[:] = [c for c in cells if c["id"] not in ("demo-total-hints", "demo-total-draw")]
    cells.insert(cells.index(answer) + 1, labfactory.markdown("0a1b2c3d", "A note of mine."))
    cells.insert(cells.index(answer) + 2, second)
    cells.insert(0, check)
    after, said = brought(places, labfactory.lab(), mine)
    assert [id for id in sources(after) if id in sources(labfactory.lab())] == list(sources(labfactory.lab()))
    assert sources(after)["demo-total-answer"] == ANSWER, "the copy with the lab's own id counts, as in grading"
    boxed = next(cell for cell in after["cells"] if "total = 17" in cell["source"])
    assert boxed["cell_type"] == "markdown"
    assert after["cells"].index(boxed) > list(sources(after)).index("demo-total-check"), "nothing stands in between"
    assert "A note of mine." in sources(after).values()
    assert "cell demo-total-check: a copy of it is gone" in said
    assert "answer demo-total-answer: was there 2 times, is there once" in said


def test_a_changed_cell_of_the_lab_stays_below_it_where_the_edition_is_known(places):
    labfactory.write(labfactory.lab(), places[1])
    labfactory.write(labfactory.lab(), places[0])
    update(load(places[0]), places[1])  # notes the edition
    mine = read_notebook(places[1])
    labfactory.cell(mine, "between")["source"] = "A sentence. My remark: the queue is full."
    labfactory.cell(mine, "demo-total-given")["source"] = "figures = [7, 7]"
    after, said = brought(places, labfactory.lab(), mine)
    assert sources(after)["between"] == "A sentence between two exercises."
    assert "A sentence. My remark: the queue is full." in sources(after).values()
    assert any("figures = [7, 7]" in cell["source"] and cell["cell_type"] == "markdown" for cell in after["cells"])
    assert sum("is the lab's again" in line for line in said) == 2
    assert update(load(places[0]), places[1]).changes == ()


@pytest.mark.parametrize("line", ["import math", "total = 3, ...", '"my reason"', "total: int"])
def test_a_begun_answer_is_not_taken_for_a_stub(places, line):
    mine = begun(demo_total_answer=f"{line}\ntotal = ...")
    after, _ = brought(places, labfactory.lab(), mine)
    assert sources(after)["demo-total-answer"] == f"{line}\ntotal = ..."


def test_kernel_owner_and_mode_are_the_learners(places):
    mine = begun()
    mine["metadata"]["kernelspec"] = {"display_name": "Mine", "language": "python", "name": "mine"}
    labfactory.write(labfactory.lab(), places[0])
    labfactory.write(mine, places[1]).chmod(0o640)
    if os.geteuid() == 0:
        os.chown(places[1], 12345, 23456)
    done = update(load(places[0]), places[1], now=datetime(2026, 11, 30, 17, 5, 9))
    assert done.copy == places[1].parent / COPIES / "77_demo.2026-11-30-170509.ipynb"
    assert read_notebook(places[1])["metadata"]["kernelspec"]["name"] == "mine"
    for path in (places[1], done.copy):
        state = path.stat()
        assert state.st_mode & 0o777 == 0o640
        assert os.geteuid() or (state.st_uid, state.st_gid) == (12345, 23456)


def test_wrong_files_are_refused_and_untouched(places, capsys):
    new, mine = places
    labfactory.write(labfactory.lab(), new)
    other = labfactory.lab()
    other["cells"] = labfactory.exercise_cells("other.thing", answer="x = ...", check='check("other.thing", x)')
    for content, said in (
        (json.dumps(other), "no exercise of 77_demo.ipynb is in it"),
        ("{", "is not JSON"),
        ("", "is not JSON"),
        (json.dumps({"nbformat": 3, "worksheets": []}), "nbformat 3"),
    ):
        mine.parent.mkdir(exist_ok=True)
        mine.write_text(content)
        assert main(["update", str(new), str(mine)]) == 2
        assert said in capsys.readouterr().err
        assert mine.read_text() == content
    labfactory.write(begun(), mine)
    assert main(["update", str(mine), str(new)]) == 2
    assert "name the new lab first, then your notebook" in capsys.readouterr().err
    assert main(["update", str(new), str(new)]) == 2
    assert not (mine.parent / COPIES).exists()


def test_a_bundle_updates_a_directory_and_one_bad_notebook_stops_nothing(places, tmp_path, capsys):
    bundle, home = tmp_path / "bundle", tmp_path / "home"
    better = labfactory.lab()
    labfactory.cell(better, "between")["source"] = "A better sentence."
    for name in ("01_a.ipynb", "02_b.ipynb", "03_c.ipynb"):
        labfactory.write(better, bundle / "notebooks" / name)
    labfactory.write(begun(), home / "01_a.ipynb")
    (home / "02_b.ipynb").write_text("{")
    assert main(["update", str(bundle), str(home), "--dry-run"]) == 1
    assert not (home / COPIES).exists()
    assert not (home / "03_c.ipynb").exists()
    assert main(["update", str(bundle), str(home)]) == 1
    said = capsys.readouterr()
    assert "02_b.ipynb is not JSON" in said.err
    assert "1 answer and 0 cells of yours kept" in said.out
    assert "1 answers" not in said.out
    assert sources(read_notebook(home / "01_a.ipynb"))["between"] == "A better sentence."
    assert read_notebook(home / "03_c.ipynb")["cells"] == read_notebook(bundle / "notebooks" / "03_c.ipynb")["cells"]
    assert main(["update", str(bundle), str(home / "01_a.ipynb"), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)[0]["changes"] == []


def test_a_notebook_saved_meanwhile_is_left_alone(places, monkeypatch):
    labfactory.write(labfactory.lab(), places[0])
    labfactory.write(begun(), places[1])
    from labkit.course import updating_files

    def saved(lab: Any, notebook: Any) -> Any:
        places[1].write_text(json.dumps(begun(demo_total_answer="total = 18")))
        return merge(lab, notebook)

    merge = updating_files.merge
    monkeypatch.setattr(updating_files, "merge", saved)
    with pytest.raises(UsageError, match="was saved meanwhile"):
        update(load(places[0]), places[1])
    assert "total = 18" in places[1].read_text()


@pytest.mark.skipif(sys.platform == "win32", reason="signals")
@pytest.mark.slow
def test_killed_at_every_step_the_notebook_is_the_old_or_the_new_one(places):
    labfactory.write(labfactory.lab(), places[0])
    lab = load(places[0])
    now = datetime(2026, 11, 30)
    old = labfactory.write(begun(), places[1]).read_bytes()
    assert update(lab, places[1], now=now).copy is not None
    new = places[1].read_bytes()
    outcomes, step = [], 0
    while True:
        for path in places[1].parent.rglob("*"):
            if path.is_file():
                path.unlink()
        places[1].write_bytes(old)
        step += 1
        child = os.fork()
        if child == 0:
            die_at(step, str(places[1].parent))
            update(lab, places[1], now=now)
            os._exit(0)
        _, status = os.waitpid(child, 0)
        outcomes.append(places[1].read_bytes())
        assert outcomes[-1] in (old, new), f"torn at step {step}"
        copies = list((places[1].parent / COPIES).glob("*.ipynb"))
        assert all(path.read_bytes() == old for path in copies)
        assert copies or outcomes[-1] == old, "no change before the copy is safe"
        if os.WIFEXITED(status):
            assert os.WEXITSTATUS(status) == 0
            break
    assert step > 12, "it was killed at many steps"
    assert outcomes[0] == old
    assert outcomes[-1] == new
    # What a killed run has left behind doesn't stop the next one.
    places[1].write_bytes(old)
    update(lab, places[1])
    assert places[1].read_bytes() == new


def die_at(step: int, place: str) -> None:
    """From now on count everything that this process does to files below `place`; at `step` it is killed."""
    done = 0

    def one(*_: Any) -> None:
        nonlocal done
        done += 1
        if done == step:
            os.kill(os.getpid(), signal.SIGKILL)

    def heard(event: str, args: tuple[Any, ...]) -> None:
        if event in ("open", "os.rename", "os.mkdir", "os.chmod", "os.chown", "os.remove") and place in str(args):
            one()

    write, sync = os.write, os.fsync

    def torn_write(handle: int, content: Any) -> int:
        one()
        half = write(handle, bytes(content)[: len(content) // 2 or 1])  # as a kill in the middle leaves it
        one()
        return half

    def heard_sync(handle: int) -> None:
        one()
        sync(handle)

    os.write, os.fsync = torn_write, heard_sync  # type: ignore[assignment]
    sys.addaudithook(heard)


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="/dev/full")
def test_a_full_disk_is_said_in_one_line_and_changes_nothing(places, monkeypatch):
    labfactory.write(labfactory.lab(), places[0])
    old = labfactory.write(begun(), places[1]).read_bytes()

    def full(handle: int, content: Any) -> int:
        return os.pwrite(os.open("/dev/full", os.O_WRONLY), bytes(content), 0)

    from labkit.course import updating_files

    monkeypatch.setattr(updating_files, "write_all", full)
    with pytest.raises(LabkitError, match="no space left on device; it is as it was"):
        update(load(places[0]), places[1])
    assert places[1].read_bytes() == old
    assert [path for path in places[1].parent.rglob("*") if path.is_file()] == [places[1]]


def test_a_note_alone_is_one_change_said_plainly(places, capsys):
    labfactory.write(labfactory.lab(), places[0])
    labfactory.write(begun(), places[1])
    assert main(["update", *map(str, places)]) == 0
    said = capsys.readouterr().out.splitlines()
    assert "77_demo.ipynb: 1 change;" in said[0]
    assert said[1] == "  from now on the notebook notes which cells are the lab's"
    assert said[1].strip() in (Path(__file__).parents[2] / "docs/updating.md").read_text(encoding="utf-8")
