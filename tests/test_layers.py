"""The map holds: topic packages know their subject and nothing above it."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1] / "labkit"
ABOVE_TOPICS = {"checks", "course", "grading", "hub", "cli", "pytest_plugin", "doctor"}
# Who may import whom, within labkit. Everything that isn't named here is a topic package or shared by all.
MAY_NOT = {
    "course": {"checks", "grading", "hub", "cli"},
    "checks": {"grading", "hub", "cli"},
    "grading": {"hub", "cli"},
    "errors.py": ABOVE_TOPICS,
    "inputs.py": ABOVE_TOPICS,
    "words.py": ABOVE_TOPICS,
    "later.py": ABOVE_TOPICS,
    "sketching.py": ABOVE_TOPICS,
    "picture.py": ABOVE_TOPICS,
    "device.py": ABOVE_TOPICS,
}
SHARED = {
    "__init__.py",
    "cli.py",
    "cli",
    "doctor.py",
    "pytest_plugin.py",
    "pytest_plugin",
    "hub",
    "py.typed",
    "notebooks",
}


def forbidden_for(top: str) -> set[str]:
    return set() if top in SHARED else MAY_NOT.get(top, ABOVE_TOPICS)


def imported(source: str, package: str) -> set[str]:
    """First part below labkit of every import in `source`, wherever it stands; `package` resolves relative ones."""
    names = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            base = node.module or ""
            if node.level:
                base = ".".join([*package.split(".")[: len(package.split(".")) - node.level + 1], base]).strip(".")
            names |= {f"{base}.{alias.name}" for alias in node.names}
    return {name.split(".")[1] for name in names if name.startswith("labkit.")}


FILES = sorted(ROOT.rglob("*.py"))


@pytest.mark.parametrize("path", FILES, ids=lambda p: str(p.relative_to(ROOT)))
def test_imports_go_down(path):
    relative = path.relative_to(ROOT)
    package = ".".join(["labkit", *relative.parent.parts])
    found = imported(path.read_text(encoding="utf-8"), package) & forbidden_for(relative.parts[0])
    assert not found, f"{relative} imports {', '.join(sorted(found))}"


def test_the_rule_sees_an_offence():
    assert imported("def f():\n    from labkit.checks import card\n", "labkit.pipeline") == {"checks"}
    assert imported("from ..course import lint", "labkit.pipeline") == {"course"}
    assert imported("import labkit.grading.judge", "labkit.pipeline") == {"grading"}
    assert forbidden_for("pipeline") >= {"checks", "course", "grading", "hub"}


@pytest.mark.parametrize("path", FILES, ids=lambda p: str(p.relative_to(ROOT)))
def test_one_idea_a_file(path):
    assert len(path.read_text(encoding="utf-8").splitlines()) <= 400


def test_import_labkit_is_light():
    topics = ("pipeline", "ranks", "sharding", "metrics", "scaling", "resume", "records")
    code = f"import sys, {', '.join(f'labkit.{topic}' for topic in topics)}\n"
    code += "print([m for m in ('torch', 'pandas', 'matplotlib') if m in sys.modules])"
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert out.strip() == "[]"
