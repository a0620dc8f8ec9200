"""What a grading leaves behind: right figures, everything escaped, no solution and no hidden input for a learner."""

from __future__ import annotations

import csv
import hashlib
import io
import re
import shutil
from dataclasses import replace
from html.parser import HTMLParser
from xml.etree import ElementTree

import classroom
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from labkit.checks.result import Evidence, Result, Verdict
from labkit.grading.alike import alike
from labkit.grading.classpage import class_page, similar
from labkit.grading.grade import Grading, lines
from labkit.grading.labs import read_course
from labkit.grading.marks import Mark
from labkit.grading.outputs import write
from labkit.grading.page import breakable, file_name
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
        if tag not in ("meta", "br", "wbr"):
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
    assert "3 × “a claim” did not hold. First wait twice" in page
    assert "1 × “a claim” did not hold. other" in page


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


def test_one_is_not_many():
    page = class_page(grading(make("ada", verdict=Verdict.PASSED)))
    assert "1 learner, 1 submission; " in page
    assert not re.search(r"\b1 (learners|submissions|answers|ways|exercises)\b", page)
    (line, *_) = lines(grading(make("ada")))
    assert line.startswith("1 learner, 1 submission, ")


def test_ids_break_behind_dots_and_underscores_only():
    page = class_page(grading(make("ada")))
    assert "pipeline.<wbr>makespan</code>" in page
    assert breakable("a.b_c.") == "a.<wbr>b_<wbr>c."
    assert "code.id { overflow-wrap: normal; }" in page


def test_bars_are_whole_in_a_narrow_window():
    """At 500 px nothing of a bar lies outside the box that scrolls: 75 % looks like 75 %."""
    sync = pytest.importorskip("playwright.sync_api")
    browser = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
    if browser is None:
        pytest.skip("no chromium here")
    with sync.sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=browser, args=["--no-sandbox"])
        page = chromium.new_page(viewport={"width": 500, "height": 900})
        page.set_content(class_page(grading(make("ada"), make("ben", verdict=Verdict.PASSED))))
        over = page.evaluate(
            "() => [...document.querySelectorAll('.bar')].map(bar => bar.getBoundingClientRect().right"
            " - bar.closest('.scroll').getBoundingClientRect().right)"
        )
        chromium.close()
    assert over
    assert max(over) <= 0, over


def test_a_page_can_be_matched_to_a_receipt():
    """When it was graded and handed in, and which bytes; nothing else differs between two runs."""
    of = grading(make("ada"), stamp="2026-03-02 10:11")
    (one,) = of.collected.submissions
    digest = hashlib.sha256(b"the notebook").hexdigest()
    of = replace(of, collected=replace(of.collected, submissions=(replace(one, sha256=digest),)))
    page = report(of, "ada")
    assert (
        f"handed in 2026-03-02 10:11, SHA-256 begins with <code>{digest[:12]}</code>. Graded 2026-01-01 00:00 UTC."
        in page
    )
    assert digest not in page
    later = tuple(replace(m, result=replace(m.result, at="2027-05-06T08:07:06+01:00")) for m in of.marks)
    assert report(replace(of, marks=later), "ada") == page.replace("2026-01-01 00:00 UTC", "2027-05-06 07:07 UTC")


def test_what_is_wrong_with_a_file_stands_on_the_page_once():
    why = "x.ipynb can't be graded: it is not JSON"
    marks = [
        replace(m, result=replace(m.result, evidence=(Evidence("an answer", ok=False, seen=why),)), reasons=(why,))
        for m in make("ada", verdict=Verdict.NOT_ANSWERED)
    ]
    of = grading(marks, notes=(why,))
    assert report(of, "ada").count("it is not JSON") == 1
    assert "Note: " not in junit_xml(of), "seen says it"
