"""What a grading leaves behind: right figures, everything escaped, no solution and no hidden input for a learner."""

from __future__ import annotations

import csv
import io
import re
from html.parser import HTMLParser
from xml.etree import ElementTree

import classroom
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from labkit.checks.result import Evidence, Result, Verdict
from labkit.grading.alike import alike
from labkit.grading.classpage import class_page, similar
from labkit.grading.grade import Grading
from labkit.grading.labs import read_course
from labkit.grading.marks import Mark
from labkit.grading.outputs import write
from labkit.grading.page import file_name
from labkit.grading.report import report
from labkit.grading.submission import Collected, Submission
from labkit.grading.tables import COLUMNS, MORE, cell, grades_csv, junit_xml

COURSE = read_course(classroom.ROOT / "notebooks")
ONE, NINE = classroom.lab("01"), classroom.lab("09")
EVIL = "=1+1<script>alert('\"&')</script>\x00\x1b"


def make(
    learner: str,
    lab=ONE,
    verdict=Verdict.FAILED,
    *,
    said: str = "7",
    given="f(HIDDEN)",
    why: str = "a mistake",
    isolation="namespaces",
    reasons=(),
):
    """All marks of a learner in a lab, with one verdict."""
    marks = []
    for e in lab.exercises:
        ok = verdict is Verdict.PASSED
        seen = "Traceback SECRET" if verdict is Verdict.BROKEN else said
        evidence = (Evidence("a claim", ok, given, seen, "an invariant", why, "look again."),)
        points = e.points if ok else 0.0
        result = Result(e.id, verdict, points, e.points, evidence, "cpu", 0.5, learner, "2026-01-01", "1.0")
        marks.append(Mark(lab.stem, e.title, e.kind, result, "print", isolation, reasons))
    return marks


def grading(*marks: list[Mark], answers=(), learners=(), ungraded=(), notes=(), folder="", stamp="") -> Grading:
    flat = [mark for some in marks for mark in some]
    keys = dict.fromkeys((mark.result.learner, mark.lab) for mark in flat)
    code = dict(answers)
    submissions = tuple(
        Submission(
            learner,
            lab,
            f"{lab}.ipynb",
            folder,
            stamp,
            {e.id: {e.answer[0]: code[learner]} for e in COURSE.lab(lab).exercises} if learner in code else {},
            notes=tuple(notes),
        )
        for learner, lab in keys
    )
    everybody = (*dict.fromkeys(learner for learner, _ in keys), *learners)
    return Grading(COURSE, Collected(submissions, everybody, dict(ungraded)), tuple(flat))


def table(of: Grading) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(grades_csv(of))))


def test_grades_csv_has_nbgraders_columns_and_one_an_exercise():
    of = grading(
        make("ada", verdict=Verdict.PASSED), make("ben"), learners=["cleo"], folder="ps1", stamp="2026-03-02 10:11"
    )
    header = next(csv.reader(io.StringIO(grades_csv(of))))
    assert header == [*COLUMNS, *MORE, *(e.id for e in ONE.exercises)]
    ada, ben, cleo = table(of)
    most = str(float(sum(e.points for e in ONE.exercises)))
    assert (ada["score"], ada["raw_score"], ada["max_score"]) == (most, most, most)
    assert (ada["assignment"], ada["timestamp"]) == ("ps1", "2026-03-02 10:11")
    assert ada["pipeline.makespan"] == "2.0"
    assert (ben["score"], ben["pipeline.makespan"]) == ("0.0", "0.0")
    assert (cleo["student_id"], cleo["score"], cleo["timestamp"]) == ("cleo", "0.0", ""), "nothing handed in: zeros"


def test_the_columns_are_those_of_nbgraders_export():
    pytest.importorskip("nbgrader")
    import inspect

    from nbgrader.plugins.export import CsvExportPlugin

    keys = re.search(r"keys = \[(.*?)\]", inspect.getsource(CsvExportPlugin.export), re.DOTALL)
    assert tuple(re.findall(r'"(\w+)"', keys[1])) == COLUMNS


def test_two_labs_are_two_rows_a_learner():
    rows = table(grading(make("ada", ONE, Verdict.PASSED), make("ben", NINE, Verdict.PASSED)))
    assert [(r["assignment"], r["student_id"]) for r in rows] == [
        (ONE.stem, "ada"), (ONE.stem, "ben"), (NINE.stem, "ada"), (NINE.stem, "ben")
    ]  # fmt: skip
    assert rows[0]["durable.torn"] == ""
    assert rows[3]["self_assessed"] == "2.0", "what rests on the learner's own word is told"
    assert rows[0]["self_assessed"] == "0.0"


def test_what_could_not_be_judged_is_told():
    (row,) = table(grading(make("ada", verdict=Verdict.BROKEN)))
    assert row["not_judged"] == row["max_score"]


@pytest.mark.parametrize("text", ["=1+1", "+1", "-1", "@x", "\tx", "\rx", "＝1"])
def test_no_formula_in_a_cell(text):
    assert cell(text) == "'" + text.replace("\r", " ")
    assert cell("ada") == "ada"


names = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=30)


@settings(max_examples=60)
@given(name=names, said=names, file=names)
def test_anything_can_be_named_and_said(name, said, file):
    """Any name, any words of an answer: all outputs stay well-formed, and nothing gets loose."""
    of = grading(make(name, said=said, why=said, reasons=(said,)), ungraded={name: (file,)}, notes=(file,))
    (row,) = table(of)
    assert row["student_id"].removeprefix("'") == re.sub("[\r\n]", " ", name.removeprefix("'"))
    ElementTree.fromstring(junit_xml(of))
    for page in (report(of, name), class_page(of)):
        check_page(page)


class _Tags(HTMLParser):
    def __init__(self):
        super().__init__()
        self.open, self.seen, self.ids, self.links = [], set(), [], []

    def handle_starttag(self, tag, attributes):
        self.seen.add(tag)
        found = dict(attributes)
        self.ids += [found["id"]] if "id" in found else []
        self.links += [found[name] for name in ("href", "src") if name in found]
        assert not any(name.startswith("on") for name in found)
        if tag not in ("meta", "br"):
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag


def check_page(page: str) -> _Tags:
    tags = _Tags()
    tags.feed(page)
    assert tags.open == []
    assert not tags.seen & {"script", "iframe", "img", "link", "object", "form"}
    assert len(tags.ids) == len(set(tags.ids))
    for link in tags.links:
        assert re.fullmatch(r"#[\w-]+|learners/[a-z0-9_-]+\.html", link), link
        assert not link.startswith("#") or link[1:] in tags.ids
    return tags


def test_evil_names_and_outputs_are_only_text():
    of = grading(make(EVIL, said=EVIL, why=EVIL, reasons=(EVIL,)), ungraded={EVIL: (EVIL,)}, notes=(EVIL,))
    for page in (report(of, EVIL), class_page(of)):
        assert "<script" not in page
        assert "&lt;script&gt;" in page
    suite = ElementTree.fromstring(junit_xml(of)).find("testsuite")
    assert suite.get("name").startswith(f"{ONE.stem}: =1+1<script>")


def test_a_learner_reads_no_hidden_input_and_no_traceback_of_the_check():
    of = grading(make("ada"), make("ben", verdict=Verdict.BROKEN), make("cleo", verdict=Verdict.PASSED))
    for learner in ("ada", "ben", "cleo"):
        page = report(of, learner)
        assert "HIDDEN" not in page
        assert "SECRET" not in page
    assert "HIDDEN" not in junit_xml(of)
    assert "SECRET" not in junit_xml(of)
    assert "SECRET" in class_page(of), "the course sees why it broke"
    assert "an invariant" in report(of, "ada")
    assert "look again." in report(of, "ada")


def test_an_answer_that_says_much_is_cut():
    assert "x" * 400 not in report(grading(make("ada", said="x" * 5000)), "ada")


def test_self_assessed_points_are_told_on_the_pages():
    of = grading(make("ada", NINE, Verdict.PASSED))
    assert "2 of them self-assessed" in report(of, "ada")
    assert "rest on your own word" in report(of, "ada")
    assert "self-assessed" in class_page(of)


def test_unsafe_marks_are_told_everywhere():
    of = grading(make("ada", isolation="none"))
    assert "prove nothing" in report(of, "ada")
    assert "Graded with --unsafe" in class_page(of)


def test_junit_names_exercises():
    root = ElementTree.fromstring(junit_xml(grading(make("ada"), make("ben", verdict=Verdict.PASSED))))
    ada, ben = root.findall("testsuite")
    assert [case.get("name") for case in ada] == [e.id for e in ONE.exercises]
    assert (ada.get("failures"), ben.get("failures")) == (str(len(ONE.exercises)), "0")
    failure = ada[0].find("failure")
    assert failure.get("message") == "Two totals: a claim"
    assert "Should hold: an invariant" in failure.text


def test_common_failures_are_counted():
    page = class_page(
        grading(*(make(f"learner-{i}", why="first wait twice") for i in range(3)), make("x", why="other"))
    )
    assert "3 × not held: a claim: first wait twice" in page
    assert "1 × not held: a claim: other" in page


def test_files_are_written_and_stale_pages_go(tmp_path):
    (tmp_path / "learners").mkdir()
    (tmp_path / "learners" / "gone.html").write_text("old")
    write(grading(make("ada"), make("../../x")), tmp_path)
    found = {path.name for path in (tmp_path / "learners").iterdir()}
    assert found == {"ada.html", file_name("../../x")}
    assert {p.name for p in tmp_path.iterdir()} == {"grades.csv", "junit.xml", "class.html", "learners"}


@given(st.lists(names, min_size=2, max_size=8, unique=True))
def test_every_learner_has_a_page_of_their_own(many):
    files = [file_name(name) for name in many]
    assert len({file.lower() for file in files}) == len(many)
    assert all(re.fullmatch(r"[a-z0-9_-]+\.html", file) for file in files)


LONG = """
def line(prepare, train, depth):
    # the time at which each batch is ready
    ready, free, out = [], 0, []
    for i, (p, c) in enumerate(zip(prepare, train)):
        start = free if i < depth else max(free, out[i - depth])
        free = start + p
        ready.append(free)
        out.append(max(ready[-1], out[-1] if out else 0) + c)
    return ready, out
"""
RENAMED = LONG.replace("free", "worker").replace("ready", "done").replace("# the time", "# see") + "\n\n# mine\n"
OTHER = """
def line(prepare, train, depth):
    from labkit.pipeline import simulate

    table = simulate(prepare, train, depth=depth).frame()
    ready = table[table.stage == "prepare"].end.tolist()
    ends = table[table.stage == "train"].end.tolist()
    if len(ready) != len(ends):
        raise ValueError("a batch is missing")
    return ready, ends
"""


def test_answers_that_look_alike():
    found = alike("x", {"ada": LONG, "ben": RENAMED, "cleo": OTHER, "dan": "x = 1"}, [])
    assert [(g.learners, g.word_for_word) for g in found] == [(("ada", "ben"), False)]
    assert found[0].share == 1
    (same,) = alike("x", {"ada": LONG, "ben": LONG + "\n"}, [])
    assert same.word_for_word
    nearly = LONG.replace("return ready, out", "return list(ready), out")
    (near,) = alike("x", {"ada": LONG, "ben": nearly}, [])
    assert 0.85 <= near.share < 1
    assert alike("x", {"ada": LONG, "ben": RENAMED}, [LONG]) == [], "what everybody was given doesn't count"
    assert alike("x", {"ada": "x = (", "ben": "x = ("}, []) == []


def test_the_usual_way_comes_last():
    code = {f"l{i}": LONG for i in range(8)} | {"a": OTHER, "b": OTHER}
    first, last = alike("x", code, [])
    assert (first.learners, first.usual) == (("a", "b"), False)
    assert last.usual


def test_the_class_page_says_what_likeness_is_and_is_not():
    of = grading(
        make("ada"),
        make("ben"),
        make("cleo", verdict=Verdict.PASSED),
        answers={"ada": LONG, "ben": RENAMED, "cleo": OTHER},
    )
    assert {group.learners for group in similar(of)} == {("ada", "ben")}
    page = class_page(of)
    assert "a reason to look, not a finding" in page
    assert "100 % of the structure" in page
