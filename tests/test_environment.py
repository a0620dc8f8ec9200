"""pyproject.toml, constraints.txt and environment.yml describe one set, and this is the set that runs."""

from __future__ import annotations

import importlib.metadata
import re
import tomllib

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name


@pytest.fixture
def declared(root):
    project = tomllib.loads((root / "pyproject.toml").read_text())["project"]
    extras = project["optional-dependencies"]
    return [
        Requirement(r)
        for r in project["dependencies"] + extras["labs"] + extras["grade"] + extras["hub"] + extras["test"]
    ]


@pytest.fixture
def pins(root):
    lines = (root / "constraints.txt").read_text().splitlines()
    pairs = [line.split("==") for line in lines if line.strip() and not line.startswith("#")]
    assert all(len(pair) == 2 for pair in pairs), "every line is an exact pin"
    return {canonicalize_name(name): version for name, version in pairs}


def test_every_declaration_is_pinned_and_allowed(declared, pins):
    for requirement in declared:
        pin = pins.get(canonicalize_name(requirement.name))
        assert pin, f"{requirement.name} has no pin in constraints.txt"
        assert requirement.specifier.contains(pin), f"{requirement} does not allow the pin {pin}"


def test_the_installed_set_is_the_pinned_one(declared, pins):
    for requirement in declared:
        installed = importlib.metadata.version(requirement.name).split("+")[0]
        assert installed == pins[canonicalize_name(requirement.name)], requirement.name


def test_everything_installed_for_labkit_is_pinned(declared, pins):
    """Dependencies of dependencies too, so that a new machine gets what was tested."""
    seen, queue = set(), [r.name for r in declared]
    while queue:
        name = canonicalize_name(queue.pop())
        if name in seen:
            continue
        seen.add(name)
        for line in importlib.metadata.requires(name) or []:
            needed = Requirement(line)
            if needed.marker is None or needed.marker.evaluate({"extra": ""}):
                queue.append(needed.name)
    assert not seen - set(pins), f"without a pin: {sorted(seen - set(pins))}"


def test_every_dependency_says_why(root):
    text = (root / "pyproject.toml").read_text()
    block = text[text.index("dependencies = [") : text.index("[project.scripts]")]
    for line in block.splitlines():
        if re.match(r'\s+"[\w-]+[><=]', line):
            assert re.search(r'",\s+# \S+', line), f"say in one line why: {line.strip()}"


def test_conda_users_get_the_same_set(root):
    """environment.yml installs the project's own declarations under the same constraints, and nothing beside."""
    text = (root / "environment.yml").read_text()
    items = re.findall(r"^\s+- ([^:\n]+)$", text, re.MULTILINE)
    assert items == [
        "conda-forge",
        "python=3.11",
        "pip",
        "make",
        "--constraint constraints.txt",
        "--editable .[labs,grade,hub,test]",
    ]
    tested = re.search(r"Python (3\.\d+)", (root / "constraints.txt").read_text())[1]
    assert f"python={tested}" in items
