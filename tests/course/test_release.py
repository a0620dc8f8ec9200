"""The learner's bundle: the same bytes every time, nothing given away, nobody's work overwritten."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import zipfile
from pathlib import Path

import labfactory
import pytest

from labkit.cli import main
from labkit.course import load
from labkit.course.exercises import is_unanswered
from labkit.course.leaks import leaks, secrets
from labkit.course.release import EPOCH, MANIFEST
from labkit.course.updating_match import edition_of

ROOT = Path(__file__).parents[2]


@pytest.fixture
def course(tmp_path, monkeypatch):
    """A small course: one lab, its picture, its answers."""
    place = tmp_path / "course" / "notebooks"
    raw = labfactory.lab(setup="import math", extra=[labfactory.markdown("seen", "![A queue of two](pictures/q.svg)")])
    labfactory.write(raw, place / "77_demo.ipynb")
    (place / "pictures").mkdir()
    (place / "pictures" / "q.svg").write_text("<svg/>\n")
    (place / "pictures" / "unused.svg").write_text("<svg/>\n")
    answers = tmp_path / "course" / "tests" / "answers" / "77"
    answers.mkdir(parents=True)
    (answers / "demo_total.py").write_text('"""demo.total"""\n\n# %% right: reference\ntotal = sum(figures) + offset\n')
    monkeypatch.setenv("LABKIT_NOTEBOOKS", str(place))
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("SOURCE_DATE_EPOCH", raising=False)
    return place


def everything(place: Path) -> dict[str, tuple[bytes, int, float]]:
    """Every file and directory: content, mode, time."""
    found = {}
    for path in [place, *place.rglob("*")]:
        state = path.stat()
        content = path.read_bytes() if path.is_file() else b""
        found[str(path.relative_to(place))] = (content, state.st_mode & 0o7777, state.st_mtime)
    return found


@pytest.mark.slow
def test_the_real_course_gives_the_same_bytes_twice_and_nothing_away(tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("LABKIT_NOTEBOOKS", str(ROOT / "notebooks"))
    monkeypatch.chdir(tmp_path)
    assert main(["release", "--out", "one", "--zip", "one.zip"]) == 0
    old = os.umask(0o077)  # another person's settings
    try:
        monkeypatch.setenv("TZ", "Pacific/Auckland")
        assert main(["release", "--out", "deep/er/two", "--zip", "two.zip"]) == 0
    finally:
        os.umask(old)
    assert everything(Path("one")) == everything(Path("deep/er/two"))
    assert Path("one.zip").read_bytes() == Path("two.zip").read_bytes()
    said = capsys.readouterr().out
    assert int(re.search(r"none of (\d+) right answers is in it", said)[1]) > 100

    files = sorted(name for name, (content, *_) in everything(Path("one")).items() if content)
    labs = sorted(path.name for path in (ROOT / "notebooks").glob("*.ipynb"))
    texts = ["LICENSE", "README.md", MANIFEST, "constraints.txt", "environment.yml"]
    assert files == [*texts, *(f"notebooks/{name}" for name in labs), "requirements.txt"]
    for name in labs:
        lab = load(Path("one/notebooks", name))
        ours = load(ROOT / "notebooks" / name).notebook()
        ours["metadata"]["labkit"] = {"cells": edition_of(lab)}
        assert lab.notebook() == ours
        assert all(is_unanswered(lab.cell(cell).source) for one in lab.exercises for cell in one.answer)
        assert f"(notebooks/{name})" in Path("one/README.md").read_text()
    with zipfile.ZipFile("one.zip") as archive:
        assert archive.namelist() == files
        assert all(archive.read(name) == Path("one", name).read_bytes() for name in files)
        assert {entry.date_time for entry in archive.infolist()} == {(1980, 1, 1, 0, 0, 0)}
        assert {entry.external_attr >> 16 for entry in archive.infolist()} == {0o100644}


def test_the_manifest_is_one_that_sha256sum_verifies(course):
    assert main(["release", "--out", "out"]) == 0
    assert (
        subprocess.run(["sha256sum", "--check", "--strict", MANIFEST], cwd="out", capture_output=True).returncode == 0
    )
    listed = [line.split("  ")[1] for line in Path("out", MANIFEST).read_text().splitlines()]
    assert sorted([*listed, MANIFEST]) == sorted(n for n, (content, *_) in everything(Path("out")).items() if content)
    assert "notebooks/pictures/q.svg" in listed, "what a lab shows comes along"
    assert "notebooks/pictures/unused.svg" not in listed, "and nothing else"


def test_source_date_epoch_is_the_time_of_every_file(course, monkeypatch, capsys):
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "1700000000")
    assert main(["release", "--out", "out", "--zip", "out.zip"]) == 0
    assert {when for _, _, when in everything(Path("out")).values()} == {1700000000}
    with zipfile.ZipFile("out.zip") as archive:
        assert {entry.date_time for entry in archive.infolist()} == {(2023, 11, 14, 22, 13, 20)}
    for wrong in ("yesterday", "-1", str(EPOCH - 1), "99999999999"):
        monkeypatch.setenv("SOURCE_DATE_EPOCH", wrong)
        assert main(["release", "--out", "never"]) == 2
        assert wrong in capsys.readouterr().err
    assert not Path("never").exists()


def test_a_release_goes_over_an_earlier_one_and_over_nothing_else(course, capsys):
    assert main(["release", "--out", "out", "--zip", "out.zip"]) == 0
    Path("out/.git").mkdir()
    Path("out/.git/HEAD").write_text("ref: refs/heads/main\n")
    text = course / "77_demo.ipynb"
    text.write_text(text.read_text().replace("A sentence between", "A better sentence between"))
    (course / "pictures/q.svg").unlink()
    text.write_text(text.read_text().replace("![A queue of two](pictures/q.svg)", "No picture."))
    assert main(["release", "--out", "out", "--zip", "out.zip"]) == 0
    assert "A better sentence" in Path("out/notebooks/77_demo.ipynb").read_text()
    assert not Path("out/notebooks/pictures/q.svg").exists(), "what an earlier release put there goes with it"
    assert Path("out/.git/HEAD").exists()

    mine = Path("out/notebooks/77_demo.ipynb")
    mine.write_text(mine.read_text().replace("total = ...", "total = 16"))
    before = everything(Path("out"))
    text.write_text(text.read_text().replace("A better sentence", "The best sentence"))
    assert main(["release", "--out", "out"]) == 2
    assert "out/notebooks/77_demo.ipynb was written or edited by somebody" in capsys.readouterr().err
    assert everything(Path("out")) == before, "nothing was written"


@pytest.mark.parametrize("name", ["README.md", "notebooks", "notebooks/77_demo.ipynb"])
def test_what_somebody_wrote_stays(course, capsys, name):
    mine = Path("out", name)
    mine.parent.mkdir(parents=True)
    mine.write_text("my own notes\n")
    assert main(["release", "--out", "out"]) == 2
    assert str(mine) in capsys.readouterr().err
    assert [path for path in Path("out").rglob("*") if path.is_file()] == [mine]
    assert mine.read_text() == "my own notes\n"


def test_links_are_not_followed_out_of_the_directory(course, capsys):
    Path("elsewhere").mkdir()
    Path("out").mkdir()
    Path("out/notebooks").symlink_to(Path("elsewhere").resolve())
    assert main(["release", "--out", "out"]) == 2
    assert "out/notebooks is in the way" in capsys.readouterr().err
    assert list(Path("elsewhere").iterdir()) == []


def test_a_zip_of_somebody_else_stays(course, capsys):
    with zipfile.ZipFile("mine.zip", "w") as archive:
        archive.writestr("thesis.txt", "years of work")
    Path("text.zip").write_text("not even a zip")
    for name in ("mine.zip", "text.zip"):
        before = Path(name).read_bytes()
        assert main(["release", "--out", "out", "--zip", name]) == 2
        assert f"{name} is there already" in capsys.readouterr().err
        assert Path(name).read_bytes() == before
    assert not Path("out").exists()


def test_an_answer_in_the_bundle_stops_it(course, capsys):
    text = course / "77_demo.ipynb"
    clean = text.read_text()
    for planted in ("Try `total = sum(figures)+offset`.", "total = sum( figures ) + offset  # TODO remove"):
        text.write_text(clean.replace("A sentence between two exercises.", planted))
        assert main(["release", "--out", "out"]) == 1
        said = capsys.readouterr()
        assert "holds 'total = sum(figures) + offset', of the answer 'reference' to demo.total" in said.out
        assert "nothing was written" in said.err
        assert not Path("out").exists()


def test_a_lab_that_is_not_blank_stops_it(course, capsys):
    text = course / "77_demo.ipynb"
    text.write_text(text.read_text().replace("total = ...", "total = 16"))
    assert main(["release", "--out", "out"]) == 1
    assert "does it hold a solution?" in capsys.readouterr().out
    assert not Path("out").exists()


@pytest.mark.parametrize(
    ("link", "said"), [("pictures/gone.svg", "is not there"), ("../tests/answers/77/demo_total.py", "lies outside")]
)
def test_a_link_that_learners_could_not_follow_stops_it(course, capsys, link, said):
    text = course / "77_demo.ipynb"
    text.write_text(text.read_text().replace("pictures/q.svg", link))
    assert main(["release", "--out", "out"]) == 1
    assert said in capsys.readouterr().out


def test_every_right_answer_of_the_course_would_be_found():
    """The search sees each answer: as a cell, in a hint, in an output, laid out differently."""
    looked = 0
    for path in sorted((ROOT / "notebooks").glob("*.ipynb")):
        lab = load(path)
        secret = secrets(lab, ROOT / "tests" / "answers")
        assert {one.exercise for one in secret} == {exercise.id for exercise in lab.exercises}
        assert leaks({path.name: path.read_bytes()}, secret) == []
        for one in secret:
            text = "\n# so:\n".join(one.statements)
            said = text.replace(" = ", "   =  ").replace("\n", "\n  ").splitlines(keepends=True)
            notebook = {"cells": [{"outputs": [{"data": {"text/plain": said}}]}]}
            assert leaks({"a.ipynb": json.dumps(notebook).encode()}, [one]) != []
            looked += 1
    assert looked > 100


def test_some_labs_only_and_an_unknown_one(tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("LABKIT_NOTEBOOKS", str(ROOT / "notebooks"))
    monkeypatch.chdir(tmp_path)
    assert main(["release", "05", "00_start_here", "--out", "out", "--json"]) == 0
    said = json.loads(capsys.readouterr().out)
    assert said["labs"] == ["00", "05"]
    assert sorted(path.name[:2] for path in Path("out/notebooks").iterdir()) == ["00", "05"]
    assert main(["release", "42", "--out", "never"]) == 2
    assert "no lab '42': the labs are 00, 01" in capsys.readouterr().err


def test_labs_that_were_not_named_are_not_deleted(course, capsys):
    text = (course / "77_demo.ipynb").read_text()
    (course / "78_more.ipynb").write_text(text)
    (course / "79_third.ipynb").write_text(text)
    assert main(["release", "--out", "full"]) == 0, capsys.readouterr()
    before = everything(Path("full"))
    capsys.readouterr()
    assert main(["release", "78", "--out", "full", "--zip", "full.zip"]) == 2
    said = capsys.readouterr().err
    assert "full holds labs 77, 79 that you didn't name: name them too, or give a new --out" in said
    assert said.count("\n") == 1
    assert everything(Path("full")) == before
    assert not Path("full.zip").exists(), "nothing was written"
    assert main(["release", "77", "78", "79", "--out", "full"]) == 0
    assert main(["release", "78", "--out", "new"]) == 0
    assert "new: lab 78, " in capsys.readouterr().out
    (course / "79_third.ipynb").unlink()
    assert main(["release", "--out", "full"]) == 0, "a lab that the course has no more goes"
    assert not Path("full/notebooks/79_third.ipynb").exists()


def test_it_says_that_learners_need_a_wheel(course, capsys):
    line = "it isn't on PyPI yet: give --wheel FILE (pip wheel --no-deps .)"
    assert main(["release", "--out", "out", "--json"]) == 0
    said = capsys.readouterr()
    assert line in said.err
    assert json.loads(said.out)["out"] == "out"
    Path("labkit-0.1.0-py3-none-any.whl").write_bytes(b"")
    assert main(["release", "--out", "out", "--wheel", "labkit-0.1.0-py3-none-any.whl"]) == 0
    assert "PyPI" not in capsys.readouterr().err


@pytest.mark.slow
def test_a_bundle_with_labkits_wheel_installs_from_itself(course, tmp_path):
    wheel = tmp_path / "labkit-0.1.0-py3-none-any.whl"
    with zipfile.ZipFile(wheel, "w") as archive:  # the smallest that pip takes
        info = "labkit-0.1.0.dist-info"
        archive.writestr("labkit/__init__.py", "")
        archive.writestr(
            f"{info}/METADATA", "Metadata-Version: 2.1\nName: labkit\nVersion: 0.1.0\nProvides-Extra: labs\n"
        )
        archive.writestr(
            f"{info}/WHEEL", "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
        )
        archive.writestr(f"{info}/RECORD", "")
    assert main(["release", "--out", "out", "--wheel", str(wheel)]) == 0
    words = [sys.executable, "-m", "pip", "install", "--no-deps", "--no-index", "--target", str(tmp_path / "there")]
    assert Path("out/requirements.txt").read_text().splitlines()[1] == f"./wheels/{wheel.name}[labs]"
    line = [*words, "--requirement", "requirements.txt"]  # in the bundle's directory, as its README says
    done = subprocess.run(line, capture_output=True, text=True, cwd="out")
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "there" / "labkit" / "__init__.py").exists()
    assert main(["release", "--out", "out", "--wheel", "other-1.0-py3-none-any.whl"]) == 2
