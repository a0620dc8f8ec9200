"""A submission is data: whatever a learner hands in, it is read as far as it goes, with a reason."""

from __future__ import annotations

import contextlib
import json
import os
from pathlib import Path

import classroom
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from labkit.course import dumps, lay
from labkit.errors import UsageError
from labkit.grading.finding import clean, find
from labkit.grading.labs import read_course
from labkit.grading.magics import as_python
from labkit.grading.reading import parse
from labkit.grading.submission import collect

ONE, FIVE = classroom.lab("01"), classroom.lab("05")
ANSWER = "serial, overlapped = 64, 46\n"
CELL = "pipeline-makespan-answer"
NAME = f"{ONE.stem}.ipynb"


@pytest.fixture(scope="module")
def course():
    return read_course(classroom.ROOT / "notebooks")


def answered(**changes):
    """Lab 01 with one answer, as a dictionary."""
    return lay(ONE, {"pipeline.makespan": {CELL: ANSWER}}) | changes


def cell(notebook, name=CELL):
    return next(c for c in notebook["cells"] if c.get("id") == name)


def hand_in(root: Path, content, learner="ada", name=NAME) -> Path:
    path = root / learner / name
    path.parent.mkdir(parents=True, exist_ok=True)
    text = (
        content
        if isinstance(content, bytes)
        else (content if isinstance(content, str) else json.dumps(content)).encode()
    )
    path.write_bytes(text)
    return path


def graded(course, root, **options):
    return collect(find([root], course, **options), course)


def only(course, root):
    (submission,) = graded(course, root).submissions
    assert set(submission.answers) | set(submission.missing) == {e.id for e in course.lab(submission.lab).exercises}
    assert not set(submission.answers) & set(submission.missing)
    return submission


def test_the_answer_is_found(course, tmp_path):
    hand_in(tmp_path, answered())
    submission = only(course, tmp_path)
    assert submission.answers["pipeline.makespan"] == {CELL: ANSWER}
    assert (submission.learner, submission.lab, submission.notes) == ("ada", ONE.stem, ())


def text_of(notebook) -> str:
    return json.dumps(notebook)


BAD = {
    "not JSON": (b"{nonsense", "not JSON"),
    "empty": (b"", "empty"),
    "a list": (b"[]", "not a notebook"),
    "deep": (b'{"nbformat": 4, "cells": ' + b"[" * 100_000 + b"]" * 100_000 + b"}", "nested too deep"),
    "no cells": (b'{"nbformat": 4, "cells": 7}', "no list of cells"),
    "a long number": (b'{"nbformat": ' + b"9" * 5000 + b"}", "can't be read as JSON"),
}


@pytest.mark.parametrize("name", BAD)
def test_what_cannot_be_read_says_why(course, tmp_path, name):
    content, reason = BAD[name]
    hand_in(tmp_path, content)
    hand_in(tmp_path, answered(), learner="ben")
    ada, ben = graded(course, tmp_path).submissions
    assert not ada.answers
    assert all(reason in why for why in ada.missing.values()), ada.missing
    assert ben.answers["pipeline.makespan"][CELL] == ANSWER, "one bad file harms nobody else"


def test_200_megabytes(course, tmp_path):
    path = hand_in(tmp_path, answered())
    with path.open("ab") as file:
        file.truncate(200_000_000)  # sparse: costs no disk
    assert "over 20 MB" in only(course, tmp_path).missing["pipeline.makespan"]


def variations():
    crlf = answered()
    cell(crlf)["source"] = ANSWER.replace("\n", "\r\n")
    listed = answered()
    cell(listed)["source"] = ["serial, overlapped ", "= 64, 46\n"]
    junk = answered()
    junk["cells"] += [7, None, [], {"cell_type": "code", "source": 3}, {"cell_type": {}, "source": {"a": []}}]
    renamed = answered()
    cell(renamed)["metadata"]["labkit"]["exercise"] = "pipeline.other"
    no_metadata = answered()
    for c in no_metadata["cells"]:
        c["metadata"] = 5
    no_ids = answered()
    for c in no_ids["cells"]:
        del c["id"]
    lines = json.dumps(answered(), indent=1).replace("\n", "\r\n").encode()
    deep = answered()
    inner = []
    for _ in range(400):
        inner = [inner]
    cell(deep)["metadata"]["deep"] = inner
    return {
        "Windows line ends in the answer": crlf,
        "Windows line ends in the file": lines,
        "a byte order mark": b"\xef\xbb\xbf" + text_of(answered()).encode(),
        "UTF-16": text_of(answered()).encode("utf-16"),
        "a byte that isn't UTF-8": text_of(answered(note="HERE")).encode().replace(b"HERE", b"\xff\xfe\x00"[:2]),
        "source as a list": listed,
        "cells that are none": junk,
        "the exercise renamed": renamed,
        "no metadata": no_metadata,
        "no ids": no_ids,
        "no nbformat": {k: v for k, v in answered().items() if k != "nbformat"},
        "nbformat 9": answered(nbformat=9),
        "deep metadata": deep,
        "nbformat 3": {
            "nbformat": 3,
            "worksheets": [{"cells": [c | {"input": c["source"], "source": 1} for c in answered()["cells"]]}],
        }
        | {},
    }


@pytest.mark.parametrize("name", variations())
def test_graded_as_far_as_it_goes(course, tmp_path, name):
    content = variations()[name]
    if name == "nbformat 3":
        for c in content["worksheets"][0]["cells"]:
            del c["source"]
    hand_in(tmp_path, content)
    submission = only(course, tmp_path)
    assert submission.answers["pipeline.makespan"] == {CELL: ANSWER}
    said = {"UTF-16", "a byte that isn't UTF-8", "cells that are none", "no nbformat", "nbformat 9", "nbformat 3"}
    assert bool(submission.notes) == (name in said), submission.notes


def test_missing_duplicated_and_markdown_answers(course, tmp_path):
    notebook = answered()
    for c in list(notebook["cells"]):
        if c["id"] == "pipeline-waits-answer":
            notebook["cells"].remove(c)
        if c["id"] == "pipeline-depth-answer":
            c["cell_type"] = "markdown"
    copy = cell(notebook) | {"id": "another", "source": "serial = 0"}
    notebook["cells"].append(copy)
    hand_in(tmp_path, notebook)
    submission = only(course, tmp_path)
    assert submission.answers["pipeline.makespan"] == {CELL: ANSWER}, "the one with the original id counts"
    assert "2 times" in submission.reasons["pipeline.makespan"][0]
    assert "not in" in submission.missing["pipeline.waits"]
    assert "markdown" in submission.reasons["pipeline.depth"][0]
    assert "pipeline.depth" in submission.missing


def test_another_lab_is_graded_as_what_it_is(course, tmp_path):
    hand_in(tmp_path, dumps(FIVE.notebook()))  # named like lab 01
    submission = only(course, tmp_path)
    assert submission.lab == FIVE.stem
    assert "holds the answers of" in submission.notes[0]


def test_a_notebook_of_no_lab(course, tmp_path):
    hand_in(tmp_path, {"nbformat": 4, "cells": []}, name="homework.ipynb")
    collected = graded(course, tmp_path)
    assert collected.submissions == ()
    assert collected.learners == ("ada",)
    assert "no answer cell of the labs in main/notebooks (00, 01, " in collected.ungraded["ada"][0].replace(
        f"{classroom.ROOT.name}/", "main/"
    )


def test_of_several_notebooks_the_one_with_the_labs_name_counts(course, tmp_path):
    second = answered()
    cell(second)["source"] = "serial = 1"
    hand_in(tmp_path, answered())
    hand_in(tmp_path, second, name=f"{ONE.stem}-Copy1.ipynb")
    hand_in(tmp_path, second, name=f"old/{NAME}")
    submission = only(course, tmp_path)
    assert submission.answers["pipeline.makespan"] == {CELL: ANSWER}
    assert len([note for note in submission.notes if "does not count" in note]) == 2


def test_links_pipes_and_directories(course, tmp_path):
    secret = tmp_path / "secret.ipynb"
    secret.write_text(json.dumps(answered()))
    work = tmp_path / "class"
    for learner in ("ada", "ben", "cleo", "dan"):
        (work / learner).mkdir(parents=True)
    (work / "ada" / NAME).symlink_to(secret)
    (work / "ben" / NAME).mkdir()
    os.mkfifo(work / "cleo" / NAME)
    (work / "eve").symlink_to(tmp_path, target_is_directory=True)
    (work / "loop").symlink_to(work / "loop")
    collected = graded(course, work)
    reasons = {s.learner: s.missing["pipeline.makespan"] for s in collected.submissions}
    assert "a link" in reasons["ada"]
    assert "a directory" in reasons["ben"]
    assert "not an ordinary file" in reasons["cleo"]
    assert collected.ungraded.keys() == {"dan", "eve", "loop"}
    assert "no notebook" in collected.ungraded["dan"][0]


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_an_unreadable_file(course, tmp_path):
    hand_in(tmp_path, answered()).chmod(0)
    assert "permission denied" in only(course, tmp_path).missing["pipeline.makespan"]


def test_names_that_are_not_utf8(course, tmp_path):
    for learner in (b"caf\xe9", "日本".encode(), b"two\nlines", b"=1+1"):
        folder = os.fsencode(tmp_path) + b"/" + learner
        os.mkdir(folder)
        Path(os.fsdecode(folder), NAME).write_text(json.dumps(answered()))
    learners = graded(course, tmp_path).learners
    assert set(learners) == {"caf\\xe9", "日本", "two\\nlines", "=1+1"}
    for learner in learners:
        learner.encode()  # every output can hold it


def test_layouts(course, tmp_path):
    nbgrader = tmp_path / "course" / "submitted" / "ada" / "ps1"
    hand_in(nbgrader.parent, answered(), learner="ps1")
    (nbgrader / "timestamp.txt").write_text("2026-03-02 10:11:12.123456 UTC\n")
    for place in (tmp_path / "course", nbgrader.parents[1]):
        submission = only(course, place)
        assert (submission.learner, submission.folder) == ("ada", "ps1")
        assert submission.timestamp == "2026-03-02 10:11:12.123456 UTC"
    (nbgrader / "timestamp.txt").write_text("=cmd()")
    assert only(course, tmp_path / "course").timestamp == ""

    flat = tmp_path / "flat"
    hand_in(flat.parent, answered(), learner="flat", name="ben.ipynb")
    hand_in(flat.parent, answered(), learner="flat", name=f"cleo_{NAME}")
    assert [s.learner for s in graded(course, flat).submissions] == ["ben", "cleo"]

    folder = tmp_path / "dan"
    hand_in(tmp_path, answered(), learner="dan")
    for place in (folder, folder / NAME):
        assert only(course, place).learner == "dan"
    (submission,) = graded(course, folder, learner="octocat").submissions
    assert submission.learner == "octocat"
    assert len(find([folder, folder / NAME], course)) == 1, "named twice, there once"


def test_paths_that_do_not_work(course, tmp_path):
    with pytest.raises(UsageError, match="does not exist"):
        find([tmp_path / "none"], course)
    (tmp_path / "empty").mkdir()
    with pytest.raises(UsageError, match="holds no submissions"):
        find([tmp_path / "empty"], course)


values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.sampled_from([CELL, "code", "answer"]),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
    max_leaves=12,
)
cells = (
    st.fixed_dictionaries(
        {},
        optional={
            "cell_type": st.sampled_from(["code", "markdown"]) | values,
            "id": st.sampled_from(["x", "pipeline-waits-answer"]) | values,
            "source": st.text() | st.lists(st.text(), max_size=3) | values,
            "metadata": st.fixed_dictionaries({}, optional={"labkit": values, "nbgrader": values, "tags": values})
            | values,
        },
    )
    | values
)


@settings(max_examples=150)
@given(before=st.lists(cells, max_size=4), after=st.lists(cells, max_size=4), other=st.dictionaries(st.text(), values))
@pytest.mark.slow
def test_any_json_is_read_and_no_answer_lost(course, before, after, other):
    """Whatever stands around it: an answer in its own cell is taken, word for word."""
    mine = {"cell_type": "code", "id": CELL, "source": ANSWER, "metadata": {"labkit": {"role": "answer"}}}
    raw = json.dumps(other | {"nbformat": 4, "cells": [*before, mine, *after]}).encode()
    from labkit.course import extract
    from labkit.course.notebook import Lab

    notebook = parse(raw).notebook
    assert course.held(notebook)[ONE.stem] >= 1
    found = extract(Lab(Path("x"), "x", "", "", (), (), notebook), ONE)
    mine_among = found.answers["pipeline.makespan"][CELL]
    assert ANSWER in mine_among or any(CELL in note for note in found.notes)


@settings(max_examples=200)
@given(raw=st.binary(max_size=80) | values.map(lambda v: json.dumps(v).encode()) | st.text().map(str.encode))
def test_any_bytes_are_read_or_refused(raw):
    with contextlib.suppress(UsageError):
        parse(raw)


@settings(max_examples=200)
@given(st.text(alphabet="ax=1(%)!?\n '\t", max_size=40))
def test_magics_never_touch_python(source):
    import ast

    changed, lines = as_python(source)
    try:
        ast.parse(source)
    except (SyntaxError, ValueError):
        assert bool(lines) == (changed != source)
        if lines:
            ast.parse(changed)
            assert changed.count("\n") == source.count("\n"), "lines keep their numbers"
    else:
        assert (changed, lines) == (source, ())


@pytest.mark.parametrize(
    ("source", "python"),
    [
        ("%matplotlib inline\nx = 7 % 3\n", "pass\nx = 7 % 3\n"),
        ("%%time\nx = 1", "\nx = 1"),
        ("%time x = f(2)\ny = 1", "x = f(2)\ny = 1"),
        ("def f():\n    !ls\n    return 3", "def f():\n    pass\n    return 3"),
        ("%%bash\nls", "%%bash\nls"),
        ("files = !ls", "files = !ls"),
        ("text = '''\n%a\n'''\nlen?", "text = '''\n%a\n'''\npass"),
    ],
)
def test_the_rule_for_magics(source, python):
    assert as_python(source)[0] == python


def test_magics_are_reported(course, tmp_path):
    notebook = answered()
    cell(notebook)["source"] = "%matplotlib inline\n" + ANSWER
    hand_in(tmp_path, notebook)
    submission = only(course, tmp_path)
    assert submission.answers["pipeline.makespan"] == {CELL: "pass\n" + ANSWER}
    assert "`%matplotlib inline`, was left out" in submission.reasons["pipeline.makespan"][0]


def test_clean_names():
    assert clean("ada\x00\x1b[31m") == "ada\\x00\\x1b[31m"
    assert clean(" ") == "learner"
