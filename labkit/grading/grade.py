"""From paths to marks: read, leave out what is known, judge the rest, keep every mark as it comes."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

from labkit.checks.result import Verdict
from labkit.course.variants import seed
from labkit.errors import UsageError
from labkit.grading import journal, marks, outdir
from labkit.grading.crew import Crew
from labkit.grading.finding import find
from labkit.grading.labs import Course, judge_digest, read_course
from labkit.grading.marks import Key, Mark, Task
from labkit.grading.submission import Collected, Submission, collect
from labkit.grading.work import setting
from labkit.words import counted

Progress = Callable[[int, int], None]
"""Called with the number of marks made so far, and of all."""


@dataclass(frozen=True)
class Grading:
    """What a run gave.

    Attributes:
        course: the labs. collected: what was handed in.
        marks: one for each exercise of each submission, in order of learner, lab and exercise.
        isolation: how answers were kept apart, as `IsolationReport` in plain values; {} where no answer was run.
        judged: how many marks were made by running an answer now. kept: how many stood already.
        seconds: how long it took, wall clock.
    """

    course: Course
    collected: Collected
    marks: tuple[Mark, ...]
    isolation: Mapping[str, Any] = field(default_factory=dict)
    judged: int = 0
    kept: int = 0
    seconds: float = 0.0

    @property
    def broken(self) -> list[Mark]:
        """Marks that the grader failed to make; they hold no points and are no verdict on the answer."""
        return [mark for mark in self.marks if mark.result.verdict is Verdict.BROKEN]


class Judging(Protocol):
    """Who judges: processes of this machine, or a cluster."""

    isolation: dict[str, Any]

    def run(self, tasks: Sequence[Task]) -> Iterator[list[Mark]]:
        """The marks of all tasks, as they come."""


def grade(
    paths: Sequence[Path],
    out: Path,
    *,
    labs: Path,
    key: bytes,
    workers: int = 1,
    learner: str | None = None,
    resume: bool = False,
    since: Path | None = None,
    scheduler: str = "",
    unsafe: bool = False,
    progress: Progress = lambda done, of: None,
    ready: Callable[[], None] = lambda: None,
) -> Grading:
    """Grade what lies at `paths` into `out`/results.jsonl, and return it all.

    labs: directory of the pristine labs. key: the course key. learner: whose all paths are, in place of the rules.
    resume: go on in an `out` that holds marks: those whose answer, lab, labkit and key are the same are kept.
    since: results of an earlier run (a directory or a results.jsonl), whose marks are kept in the same way.
    scheduler: address of a dask scheduler that judges, in place of `workers` processes here.
    unsafe: judge even where nothing can confine the answers.
    ready: called once the arguments can be used, before anything is judged.
    Raises UsageError where an argument can't be used, `out` holds marks and `resume` isn't set, or these were made with
    another key.
    """
    began = time.monotonic()
    if learner is not None:
        seed("a.name", learner=learner, key=key)  # a name that can't be used is refused before anything runs
    course = read_course(labs)
    found = find(paths, course, learner=learner)
    outdir.apart(paths, out, learner)
    collected = collect(found, course)
    judge = judge_digest()
    tasks = [task for one in collected.submissions for task in _tasks(one, course, key, judge)]
    earlier = _earlier(since)
    here = since is not None and since.resolve() in (out.resolve(), (out / journal.NAME).resolve())
    outdir.prepare(out, key, resume=resume or here)
    ready()
    with journal.Journal(out) as book:
        known = earlier | book.marks
        keep = {task.key for task in tasks if _stands(known.get(task.key), task, unsafe)}
        blank = [mark for task in tasks if task.key not in keep and (mark := _without_running(task, course))]
        # Written with the first mark that is judged: a start that fails leaves no marks.
        first = [*(known[key] for key in known if key in keep and key not in book.marks), *blank]
        done = keep | {mark.key for mark in blank}
        begun = False
        todo = sorted((task for task in tasks if task.key not in done), key=_turn)
        progress(len(done), len(tasks))
        isolation = outdir.isolation(out) or (outdir.isolation(since) if since and keep else {})
        if todo:
            with _judges(course, key, workers, scheduler, unsafe=unsafe) as judges:
                for fresh in judges.run(todo):
                    if not begun:
                        outdir.note(out, isolation, key)  # before there are marks: what they were made with
                        book.add(first)
                        begun = True
                    book.add(fresh)
                    done |= {mark.key for mark in fresh}
                    progress(len(done), len(tasks))
                isolation = judges.isolation
        if not begun:
            outdir.note(out, isolation, key)
            book.add(first)
        settled = tuple(book.settle(task.key for task in tasks))
        seconds = time.monotonic() - began
        outdir.note(out, isolation, key)
    return Grading(course, collected, settled, isolation, len(todo), len(keep), seconds)


def _tasks(submission: Submission, course: Course, key: bytes, judge: str) -> Iterator[Task]:
    for exercise in course.lab(submission.lab).exercises:
        sources = submission.answers.get(exercise.id, {})
        reasons = submission.reasons.get(exercise.id, ())
        gone = submission.missing.get(exercise.id)
        print_of = marks.fingerprint(
            submission.learner,
            exercise.id,
            sources,
            lab=course.digests[submission.lab],
            judge=judge,
            key=key,
        )
        yield Task(
            submission.learner, submission.lab, exercise, sources, (*reasons, gone) if gone else reasons, print_of
        )


def _without_running(task: Task, course: Course) -> Mark | None:
    """The mark where there is no answer to run: none was handed in, or it is the released stub."""
    if not task.sources:
        return marks.unanswered(task, task.reasons[-1])
    lab = course.lab(task.lab)
    if all(source.strip() == lab.cell(cell).source.strip() for cell, source in task.sources.items()):
        return marks.unanswered(task, "the answer cell is as it was released")
    return None


def _stands(mark: Mark | None, task: Task, unsafe: bool) -> bool:
    """Whether an earlier mark is the one that judging the task again would give."""
    return (
        mark is not None
        and mark.fingerprint == task.fingerprint
        and mark.reasons == task.reasons
        and mark.result.verdict is not Verdict.BROKEN
        and (unsafe or mark.isolation != "none")
    )


def _turn(task: Task) -> tuple[bool, str]:
    """The order of judging: mixed, so that the time left can be told; the quick ones last, so that all end together."""
    return (task.exercise.kind == "predict", hashlib.sha256("/".join(task.key).encode()).hexdigest())


@contextmanager
def _judges(course: Course, key: bytes, workers: int, scheduler: str, *, unsafe: bool) -> Iterator[Judging]:
    if scheduler:
        from labkit.grading.cluster import Cluster

        texts = {lab.stem: lab.path.read_text("utf-8") for lab in course.labs}
        with Cluster(scheduler, setting(key, texts, unsafe=unsafe)) as cluster:
            yield cluster
    else:
        paths = {lab.stem: str(lab.path.resolve()) for lab in course.labs}
        with Crew(setting(key, paths, unsafe=unsafe), workers) as crew:
            yield crew


def _earlier(since: Path | None) -> dict[Key, Mark]:
    if since is None:
        return {}
    path = since / journal.NAME if since.is_dir() else since
    if not path.is_file():
        raise UsageError(f"{since} holds no earlier marks: name the --out of an earlier run, or its {journal.NAME}")
    found, _ = journal.read(path)
    return found


def lines(grading: Grading) -> Iterable[str]:
    """What a person should know of the run, a line each."""
    passed = sum(mark.result.verdict is Verdict.PASSED for mark in grading.marks)
    broken = counted(len(grading.broken), "exercise")
    yield (
        f"{counted(len(grading.collected.learners), 'learner')}, "
        f"{counted(len(grading.collected.submissions), 'submission')}, "
        f"{counted(len(grading.marks), 'exercise')}: {passed} passed; "
        f"{grading.judged} judged now, {grading.kept} kept, {grading.seconds:.1f} s"
    )
    if grading.isolation:
        way, still = grading.isolation.get("way", ""), grading.isolation.get("open") or ()
        closed = counted(len(grading.isolation.get("closed") or ()), "way")
        left = f"; still open: {', '.join(still)}" if still else ""
        yield f"isolation: {way}, {closed} out tried and closed{left}"
    else:
        yield "isolation: not told: no answer was run now"
    for name, why in grading.collected.ungraded.items():
        yield from (f"{name}: {line}" for line in why)
    if grading.broken:
        yield f"{broken} could not be judged, by the grader's own fault: --resume tries again"


def warnings(grading: Grading, page: Path) -> Iterable[str]:
    """What a person should look at in what was handed in, a line each. page: the class's."""
    yield from grading.collected.faults
    if others := grading.collected.others:
        yield f'{counted(others, "notebook")} did not count: see "Unusual files" in {page}'


def summary(grading: Grading) -> dict[str, Any]:
    """The run as plain JSON values, for a program."""
    return {
        "learners": list(grading.collected.learners),
        "submissions": len(grading.collected.submissions),
        "exercises": len(grading.marks),
        "passed": sum(mark.result.verdict is Verdict.PASSED for mark in grading.marks),
        "broken": [list(mark.key) for mark in grading.broken],
        "judged": grading.judged,
        "kept": grading.kept,
        "ungraded": {name: list(why) for name, why in grading.collected.ungraded.items()},
        "unreadable": grading.collected.faults,
        "not_counted": grading.collected.others,
        "isolation": dict(grading.isolation),
        "seconds": round(grading.seconds, 3),
    }
