"""The authoring rules for a lab, one plain function each.

A rule looks at a notebook and yields findings; `lint` runs them all. Most findings about ids and metadata go away with
`tidy`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from labkit.course.exercises import (
    EXERCISE_ROLES,
    ROLES,
    Cell,
    Header,
    cell_id,
    is_unanswered,
    parse_header,
)
from labkit.course.notebook import cells_of, read_notebook
from labkit.course.run import compile_cell
from labkit.course.tidy import RAISES, nbgrader_metadata, random_id
from labkit.errors import UsageError

MAX_LINES = 9  # of code that a learner need not change; longer code belongs in labkit

_SLUG = re.compile(r"[a-z0-9]+(?:[-_][a-z0-9]+)*")
_TITLE = re.compile(r"^# +\S", re.MULTILINE)
_MINUTES = re.compile(r"(\d+)\s*min")
_DETAILS = re.compile(r"<details>\s*<summary>\s*Hint (\d)\b.*?</summary>(.*?)</details>", re.DOTALL)
_MARKDOWN_IMAGE = re.compile(r"!\[([^\]]*)\]\(\s*<?([^)\s>]*)")
_IMG = re.compile(r"<img\b[^>]*>", re.IGNORECASE | re.DOTALL)
_ALT = re.compile(r"\balt\s*=\s*(\"\s*[^\"\s][^\"]*\"|'\s*[^'\s][^']*')", re.IGNORECASE)
_LOADED = re.compile(
    r"<(?:img|script|iframe|video|audio|source|embed|object|link)\b[^>]*?\b(?:src|href|data)\s*=\s*[\"']?((?:https?:)?//[^\"'\s>]+)",
    re.IGNORECASE | re.DOTALL,
)
_REMOTE = re.compile(r"(?:https?:)?//", re.IGNORECASE)
_PYPLOT = re.compile(r"\bplt\.show\b|\bpyplot\b|^\s*%(?:matplotlib|pylab)\b", re.MULTILINE)


@dataclass(frozen=True)
class Finding:
    """Where a lab breaks a rule: the file, the cell's id ("" for the whole notebook), the rule, what is wrong."""

    path: Path
    cell: str
    rule: str
    message: str

    def __str__(self) -> str:
        return f"{self.path}{f' [{self.cell}]' if self.cell else ''}: {self.message} ({self.rule})"


@dataclass(frozen=True)
class Page:
    """What the rules look at: the notebook as read, its cells, and the cells of each exercise in their order."""

    notebook: dict[str, Any]
    cells: tuple[Cell, ...]
    exercises: dict[str, tuple[Cell, ...]]

    def parts(self, role: str) -> Iterator[Cell]:
        """The cells of all exercises with this role."""
        return (cell for cells in self.exercises.values() for cell in cells if cell.role == role)

    def headers(self) -> Iterator[Header]:
        """Every header that can be read."""
        for cell in self.parts("header"):
            try:
                yield parse_header(cell.source)
            except UsageError:
                continue  # the rule `header` says it


Found = Iterator[tuple[str, str]]  # cell id ("" for the notebook), message
Rule = Callable[[Page], Found]


def cell_ids(page: Page) -> Found:
    """Every cell has a unique, readable, stable id; an exercise's cells follow exercise and role."""
    seen: set[str] = set()
    for index, cell in enumerate(page.cells, start=1):
        if not cell.id:
            yield "", f"cell {index} has no id"
        elif cell.id in seen:
            yield cell.id, "a second cell with this id"
        elif not cell.exercise and (not _SLUG.fullmatch(cell.id) or random_id(cell.id)):
            yield cell.id, "not a stable id: name the cell by what it holds, in small letters and -"
        seen.add(cell.id)
    for exercise, cells in page.exercises.items():
        for role in EXERCISE_ROLES:
            for number, cell in enumerate((cell for cell in cells if cell.role == role), start=1):
                if cell.id != cell_id(exercise, role, number):
                    yield cell.id, f"the id of this cell should be {cell_id(exercise, role, number)}"


def roles(page: Page) -> Found:
    """Every role is a known one, on the right type of cell, and names its exercise."""
    for cell in page.cells:
        if cell.role and cell.role not in ROLES:
            yield cell.id, f"unknown role {cell.role!r}: choose one of {', '.join(ROLES)}"
        elif cell.role in EXERCISE_ROLES and not cell.exercise:
            yield cell.id, f"a {cell.role} cell must name its exercise"
        elif cell.role:
            needed = "markdown" if cell.role in ("header", "hints") else "code"
            if cell.type != needed:
                yield cell.id, f"a {cell.role} cell is a {needed} cell, this one is {cell.type}"


def setup(page: Page) -> Found:
    """One setup cell, before the first exercise."""
    found = [index for index, cell in enumerate(page.cells) if cell.role == "setup"]
    if len(found) != 1:
        yield "", f"{len(found)} setup cells: a lab has one code cell with its imports"
    first = next((index for index, cell in enumerate(page.cells) if cell.exercise), None)
    if first is not None and any(index > first for index in found):
        yield page.cells[found[-1]].id, "the setup cell stands after the first exercise"


def header(page: Page) -> Found:
    """Each header has a heading and a header line, and names the exercise its metadata names."""
    for cell in page.parts("header"):
        try:
            exercise = parse_header(cell.source).exercise
        except UsageError as error:
            yield cell.id, str(error)
            continue
        if exercise != cell.exercise:
            yield cell.id, f"the header line says {exercise}, the metadata {cell.exercise}"


def parts(page: Page) -> Found:
    """Each exercise has one header, one hints cell, an answer, a drawing and one check, in that order."""
    for exercise, cells in page.exercises.items():
        places = {role: [n for n, cell in enumerate(cells) if cell.role == role] for role in EXERCISE_ROLES}
        missing = [role for role in EXERCISE_ROLES if role != "given" and not places[role]]
        for role in missing:
            yield cells[0].id, f"{exercise} has no {role} cell"
        for role in ("header", "hints", "check"):
            if len(places[role]) > 1:
                yield cells[places[role][1]].id, f"{exercise} has {len(places[role])} {role} cells: one is enough"
        if missing:
            continue
        first = [places[role][0] for role in ("header", "hints", "answer", "draw", "check")]
        drawn = places["draw"][-1] > places["answer"][-1]
        if first != sorted(first) or first[0] != 0 or places["check"][-1] != len(cells) - 1 or not drawn:
            order = ", ".join(cell.role for cell in cells)
            yield cells[0].id, f"{exercise} has {order}: write header, hints, given, answer, draw, check"


def hints(page: Page) -> Found:
    """Exactly three folded hints, numbered, each with text."""
    for cell in page.parts("hints"):
        found = _DETAILS.findall(cell.source)
        if [number for number, _ in found] != ["1", "2", "3"] or cell.source.count("<details") != 3:
            yield (
                cell.id,
                "write three folded hints: <details><summary>Hint 1 ...</summary> ... </details>, then 2 and 3",
            )
        for number, text in found:
            if not text.strip():
                yield cell.id, f"hint {number} is empty"


def check_call(page: Page) -> Found:
    """The check cell calls check with its own exercise's id, and Run All goes on past it."""
    for cell in page.parts("check"):
        if not re.search(rf"\bcheck\(\s*[\"']{re.escape(cell.exercise)}[\"']", cell.source):
            yield cell.id, f'the check cell must call check("{cell.exercise}", ...)'
        tags = cell.metadata.get("tags")
        if not isinstance(tags, list) or RAISES not in tags:
            yield cell.id, f"tag the check cell {RAISES!r}, so that Run All goes on past it"


def unanswered(page: Page) -> Found:
    """An answer cell holds `...` or raises NotImplementedError, never a solution."""
    for cell in page.parts("answer"):
        if not is_unanswered(cell.source):
            yield cell.id, "an answer cell without `...` or NotImplementedError: does it hold a solution?"


def nbgrader(page: Page) -> Found:
    """Answer and check cells carry nbgrader's metadata, with the header's points; no other cell carries any."""
    points = {item.exercise: item.points for item in page.headers()}
    for cell in page.cells:
        found = cell.metadata.get("nbgrader")
        if cell.role not in ("answer", "check"):
            if found is not None:
                yield cell.id, "nbgrader metadata on a cell that is neither answer nor check"
            continue
        # the header rule speaks of a header that can't be read; here its points then count as those found
        stated = points.get(cell.exercise, found.get("points", 0) if isinstance(found, dict) else 0)
        wanted = nbgrader_metadata(cell.role, cell.id, stated)
        if not isinstance(found, dict):
            yield cell.id, "no nbgrader metadata"
            continue
        for key in sorted({*wanted, *found}):
            if key not in found or key not in wanted or found[key] != wanted[key]:
                yield cell.id, f"nbgrader {key} is {found.get(key)!r}, should be {wanted.get(key)!r}"


def outputs(page: Page) -> Found:
    """No outputs, no execution counts."""
    for cell, raw in zip(page.cells, page.notebook["cells"], strict=True):
        if raw.get("outputs"):
            yield cell.id, "has outputs: a lab is kept without them"
        if raw.get("execution_count") is not None:
            yield cell.id, f"has execution count {raw['execution_count']}"


def kernel(page: Page) -> Found:
    """The kernel is python3."""
    metadata = page.notebook.get("metadata")
    spec = metadata.get("kernelspec") if isinstance(metadata, dict) else None
    name = spec.get("name") if isinstance(spec, dict) else None
    if name != "python3":
        yield "", f"kernelspec is {name!r}, should be 'python3'"


def alt_text(page: Page) -> Found:
    """Every image has alternative text."""
    for cell in page.cells:
        if cell.type != "markdown":
            continue
        for alt, source in _MARKDOWN_IMAGE.findall(cell.source):
            if not alt.strip():
                yield cell.id, f"image {source} has no alt text"
        for tag in _IMG.findall(cell.source):
            if not _ALT.search(tag):
                yield cell.id, f"{tag[:60]} has no alt text"


def short_code(page: Page) -> Found:
    """Code that a learner need not change stays under 10 lines."""
    for cell in page.cells:
        lines = sum(bool(line.strip()) for line in cell.source.splitlines())
        if cell.type == "code" and cell.role != "answer" and lines > MAX_LINES:
            yield cell.id, f"{lines} lines of code: keep it under {MAX_LINES + 1}, or move it into labkit"


def pictures(page: Page) -> Found:
    """No pyplot: a picture comes from labkit, with its text twin."""
    for cell in page.cells:
        found = _PYPLOT.search(cell.source) if cell.type == "code" else None
        if found:
            yield cell.id, f"{found.group().strip()}: show a labkit Picture instead, which brings its text twin"


def offline(page: Page) -> Found:
    """Nothing is loaded from the network; links that a reader may click are fine."""
    for cell in page.cells:
        images = [source for _, source in _MARKDOWN_IMAGE.findall(cell.source)] if cell.type == "markdown" else []
        remote = [source for source in images if _REMOTE.match(source)]
        for address in (*remote, *_LOADED.findall(cell.source)):
            yield cell.id, f"loads {address}: a lab works offline, keep the file beside it"


def plain_python(page: Page) -> Found:
    """The cells an exercise runs from are Python, so that it can run outside a notebook."""
    for cell in page.cells:
        if cell.type == "code" and cell.role in ("setup", "given", "answer", "check"):
            try:
                compile_cell(cell.source, cell.id)
            except (UsageError, SyntaxError) as error:
                yield cell.id, f"not plain Python: {error}"


def opening(page: Page) -> Found:
    """The lab opens with a title, what you will be able to do, minutes, and what it needs."""
    text = _opening_text(page)
    if not page.cells or page.cells[0].type != "markdown" or not _TITLE.search(page.cells[0].source):
        yield "", "the first cell must be markdown with a `# ` title"
    for what, pattern in (
        ("what you will be able to do ('able to')", r"\bable to\b"),
        ("how long it takes ('45 min')", _MINUTES.pattern),
        ("what it needs ('needs')", r"\bneeds?\b"),
    ):
        if not re.search(pattern, text, re.IGNORECASE):
            yield "", f"the opening doesn't say {what}"


def minutes(page: Page) -> Found:
    """The exercises' minutes add up to at most the lab's."""
    stated = _MINUTES.search(_opening_text(page))
    total = sum(item.minutes for item in page.headers())
    if stated and total > int(stated[1]):
        yield "", f"the exercises take {total} min together, the lab says {stated[1]}"


def _opening_text(page: Page) -> str:
    """The markdown before the first code cell and the first exercise."""
    text: list[str] = []
    for cell in page.cells:
        if cell.type == "code" or cell.exercise:
            break
        text.append(cell.source)
    return "\n\n".join(text)


RULES: tuple[Rule, ...] = (
    cell_ids,
    roles,
    setup,
    header,
    parts,
    hints,
    check_call,
    unanswered,
    nbgrader,
    outputs,
    kernel,
    alt_text,
    short_code,
    pictures,
    offline,
    plain_python,
    opening,
    minutes,
)


def lint(path: str | Path) -> list[Finding]:
    """Where a lab breaks the authoring rules, in the order of RULES. UsageError where the file isn't a notebook."""
    path = Path(path)
    notebook = read_notebook(path)
    cells = cells_of(notebook, where=path.name)
    exercises: dict[str, tuple[Cell, ...]] = {}
    for cell in cells:
        if cell.exercise and cell.role in EXERCISE_ROLES:
            exercises[cell.exercise] = (*exercises.get(cell.exercise, ()), cell)
    page = Page(notebook, cells, exercises)
    return [Finding(path, cell, rule.__name__, message) for rule in RULES for cell, message in rule(page)]
