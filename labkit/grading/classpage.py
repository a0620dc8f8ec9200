"""The class's page, for the course: how each exercise went, what goes wrong often, what a person should look at."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from itertools import groupby

from labkit.checks.result import Verdict
from labkit.grading import wording
from labkit.grading.alike import Alike, alike
from labkit.grading.grade import Grading
from labkit.grading.marks import Mark
from labkit.grading.page import anchor, breakable, file_name, items, page, rich, table, text
from labkit.words import counted

MOST_GROUPS = 40
MOST_FAILURES = 4  # of one exercise
MOST_NAMES = 12

_ORDER = ((Verdict.PASSED, "p"), (Verdict.FAILED, "f"), (Verdict.NOT_ANSWERED, "n"), (Verdict.BROKEN, "b"))

WHAT_ALIKE_IS = (
    "These answers of different learners have nearly the same structure when comments, layout, own names and numbers "
    "are left out. That is a reason to look, not a finding: short programs have few shapes, learners may have worked "
    "together as they were allowed to, or copied the same lecture. Copied numbers don't get here: everybody has other "
    "ones, so they fail. And what isn't listed may still be copied. No mark depends on this list."
)


def class_page(grading: Grading) -> str:
    """The page of all learners."""
    sections = [(_short(grading, stem), stem, list(_lab(grading, stem, found))) for stem, found in _by_lab(grading)]
    sections.append(("Learners", "learners", [_learners(grading)]))
    if grading.broken:
        told = "<p>The grader failed on these, not the answers; --resume tries them again.</p>"
        sections.insert(0, ("Not judged", "not-judged", [told, *map(_broken, grading.broken)]))
    if grading.collected.ungraded:
        lines = (f"{name}: {why}" for name, whys in grading.collected.ungraded.items() for why in whys)
        sections.append(("Files that count for no lab", "no-lab", [items(lines)]))
    noted = [f"{one.learner}: {note}" for one in grading.collected.submissions for note in one.notes]
    if noted:
        sections.append(("Unusual files", "unusual", [items(noted)]))
    groups = similar(grading)
    if groups:
        sections.append(("Answers that look alike", "alike", list(_alike(grading, groups))))
    links = "".join(f'<li><a href="#{anchor(name)}">{text(title)}</a></li>' for title, name, _ in sections)
    body = ["<h1>Marks of the class</h1>", f"<p>{_summary(grading)}</p>", _isolation(grading)]
    body.append(f'<nav aria-label="On this page"><ul>{links}</ul></nav>')
    for title, name, content in sections:
        body += [f'<h2 id="{anchor(name)}">{text(title)}</h2>', *content]
    return page("Marks of the class", body)


def _by_lab(grading: Grading) -> Iterator[tuple[str, list[Mark]]]:
    for stem, marks in groupby(sorted(grading.marks, key=lambda mark: mark.lab), key=lambda mark: mark.lab):
        yield stem, list(marks)


def _short(grading: Grading, stem: str) -> str:
    return grading.course.lab(stem).title or stem


def _summary(grading: Grading) -> str:
    passed = sum(mark.result.verdict is Verdict.PASSED for mark in grading.marks)
    return (
        f"{counted(len(grading.collected.learners), 'learner')}, "
        f"{counted(len(grading.collected.submissions), 'submission')}; "
        f"{passed} of {counted(len(grading.marks), 'exercise')} passed."
    )


def _isolation(grading: Grading) -> str:
    ways = Counter(mark.isolation for mark in grading.marks if mark.isolation)
    said = (
        ", ".join(f"{way} ({counted(count, 'answer')})" for way, count in sorted(ways.items())) or "no answer was run"
    )
    still = grading.isolation.get("open") or ()
    closed = grading.isolation.get("closed") or ()
    body = f"<p>How answers were kept apart: <strong>{text(said)}</strong>."
    body += f" Still open: {text('; '.join(still))}.</p>" if still else "</p>"
    if "none" in ways:
        body += "<p><strong>⚠ Graded with --unsafe: an answer could have done anything, to any mark.</strong></p>"
    if closed:
        head = f"{counted(len(closed), 'way')} out tried at the start, and closed"
        body += f"<details><summary>{head}</summary>{items(closed)}</details>"
    return body


def _broken(mark: Mark) -> str:
    seen = mark.result.failure.seen if mark.result.failure else ""
    return (
        f"<details><summary>{text(mark.result.learner)}: {text(mark.result.exercise)}</summary>"
        f"<pre>{text(seen)}</pre></details>"
    )


def _lab(grading: Grading, stem: str, marks: list[Mark]) -> Iterator[str]:
    lab = grading.course.lab(stem)
    by_exercise: dict[str, list[Mark]] = {exercise.id: [] for exercise in lab.exercises}
    for mark in marks:
        by_exercise[mark.result.exercise].append(mark)
    heads = (("Exercise", ""), ("Passed", "number"), ("Failed", "number"), ("Blank", "number"), ("Shares", ""))
    rows = []
    for exercise in lab.exercises:
        counts = Counter(mark.result.verdict for mark in by_exercise[exercise.id])
        total = sum(counts.values())
        share = f"{counts[Verdict.PASSED]} ({100 * counts[Verdict.PASSED] / max(1, total):.0f} %)"
        told = " · self-assessed" if exercise.kind == "explain" else ""
        code = f'<code class="faint id">{breakable(exercise.id)}</code>'
        name = f'{text(exercise.title)}<br>{code}<span class="faint">{told}</span>'
        rows.append((name, share, str(counts[Verdict.FAILED]), str(counts[Verdict.NOT_ANSWERED]), _bar(counts, total)))
    handed_in = len({mark.result.learner for mark in marks})
    yield table(
        f"{counted(handed_in, 'submission')}. In the bars: passed is filled, failed striped, blank empty", heads, rows
    )
    common = [(exercise, _failures(by_exercise[exercise.id])) for exercise in lab.exercises]
    if any(found for _, found in common):
        yield "<h3>Common failures</h3>"
        for exercise, found in common:
            if found:
                yield f"<p><strong>{text(exercise.title)}</strong></p><ul>{''.join(found)}</ul>"


def _bar(counts: Counter[Verdict], total: int) -> str:
    parts = "".join(
        f'<i class="{kind}" style="width:{100 * counts[verdict] / max(1, total):.1f}%"></i>' for verdict, kind in _ORDER
    )
    return f'<div class="bar" aria-hidden="true">{parts}</div>'


def _failures(marks: Sequence[Mark]) -> list[str]:
    """What went wrong how often, as list items."""
    groups: defaultdict[tuple[str, str], list[Mark]] = defaultdict(list)
    for mark in marks:
        failure = mark.result.failure
        if mark.result.verdict is Verdict.FAILED and failure:
            groups[failure.claim, failure.why].append(mark)
    ordered = sorted(groups.items(), key=lambda group: (-len(group[1]), group[0]))
    lines = []
    for (claim, why), found in ordered[:MOST_FAILURES]:
        failure = found[0].result.failure
        instance = f"For instance {failure.seen}" if failure and failure.seen else ""
        more = rich(wording.shortened(_sentence(why) or instance))
        said = f"“{rich(wording.shortened(claim))}” did not hold. {more}".strip()
        who = _names([mark.result.learner for mark in found])
        lines.append(f'<li>{len(found)} × {said} <span class="faint">({who})</span></li>')
    if len(ordered) > MOST_FAILURES:
        lines.append(f'<li class="faint">and {counted(len(ordered) - MOST_FAILURES, "other way")}</li>')
    return lines


def _sentence(text: str) -> str:
    """With a capital, where it begins with a word and not with a name in code."""
    return text[:1].upper() + text[1:] if re.match(r"[a-z]+[ ,]", text) else text


def _names(learners: Sequence[str]) -> str:
    more = f" and {len(learners) - MOST_NAMES} more" if len(learners) > MOST_NAMES else ""
    return text(", ".join(learners[:MOST_NAMES]) + more)


def _learners(grading: Grading) -> str:
    labs = sorted({mark.lab for mark in grading.marks})
    sums: defaultdict[tuple[str, str], list[Mark]] = defaultdict(list)
    for mark in grading.marks:
        sums[mark.result.learner, mark.lab].append(mark)
    heads = (("Learner", ""), *((lab.partition("_")[0] or lab, "number") for lab in labs), ("All", "number"))
    rows = []
    for learner in sorted(grading.collected.learners):
        mine = [sums[learner, lab] for lab in labs]
        cells = [f"{sum(m.result.points for m in found):g}" if found else "–" for found in mine]
        total = sum(m.result.points for found in mine for m in found)
        rows.append(
            (f'<a href="learners/{file_name(learner)}">{text(learner)}</a>', *cells, f"<strong>{total:g}</strong>")
        )
    return table("Points, by lab; – where nothing was handed in", heads, rows)


def _alike(grading: Grading, groups: Sequence[Alike]) -> Iterator[str]:
    yield f"<p>{WHAT_ALIKE_IS}</p>"
    verdicts = {mark.key[::2]: mark.result.verdict for mark in grading.marks}
    rows = [
        (
            f'<code class="id">{breakable(group.exercise)}</code>',
            _names(group.learners),
            _how(group),
            "wrong" if verdicts[group.learners[0], group.exercise] is Verdict.FAILED else "right",
        )
        for group in groups[:MOST_GROUPS]
    ]
    heads = (("Exercise", ""), ("Learners", ""), ("How alike", ""), ("Answer", ""))
    yield table("For a person to look at; the most telling first", heads, rows)
    if len(groups) > MOST_GROUPS:
        yield f'<p class="faint">and {counted(len(groups) - MOST_GROUPS, "more group")}.</p>'


def _how(group: Alike) -> str:
    how = "word for word, comments included" if group.word_for_word else f"{100 * group.share:.0f} % of the structure"
    return f"{how}; so many have it that it may be the usual way" if group.usual else how


def similar(grading: Grading) -> list[Alike]:
    """Groups of answers that look alike, of all exercises; wrong ones first: mistakes differ more than solutions."""
    verdicts = {mark.key[::2]: mark.result.verdict for mark in grading.marks}
    sources: defaultdict[tuple[str, str], dict[str, str]] = defaultdict(dict)
    for one in grading.collected.submissions:
        for exercise, cells in one.answers.items():
            if verdicts.get((one.learner, exercise)) in (Verdict.PASSED, Verdict.FAILED):
                sources[one.lab, exercise][one.learner] = "\n".join(cells.values())
    found = []
    for (stem, exercise), answers in sources.items():
        lab = grading.course.lab(stem)
        facts = lab.exercise(exercise)
        released = [lab.cell(cell).source for cell in (*facts.answer, *facts.given)]
        found += alike(exercise, answers, released)
    wrong = {id(g): verdicts[g.learners[0], g.exercise] is Verdict.FAILED for g in found}
    return sorted(found, key=lambda g: (g.usual, not wrong[id(g)], not g.word_for_word, -g.share))
