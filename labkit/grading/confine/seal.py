"""Has the answer changed the tools that its own experiment is run with?

Where a check cell runs the learner's code in an experiment (ranks, a stop and a resume, a disk with a record), the
experiment runs in the learner's process. Its tools must then be labkit's own: a cheat would rather replace
`stopped_and_resumed` than write `restore`. From inside that process this can't be proved; what is noticed costs the
exercise. Values and plain functions, whose inputs come from the judge, need none of this.
"""

from __future__ import annotations

import ast
import sys
import types
from collections.abc import Iterable, Iterator
from typing import Any

TOOLS = ("labkit", "torch.distributed", "time", "json", "copy", "random", "builtins", "hashlib", "threading", "os")
"""Modules an experiment stands on, those below them included for labkit."""


class Seal:
    """What the tools were when it was made, before the learner's code ran."""

    def __init__(self) -> None:
        self._kept = [(name, holder, key, thing, _body(thing)) for name, holder, key, thing in _tools()]

    def broken(self) -> str:
        """The first tool that isn't what it was, "" where all are."""
        for name, holder, key, thing, body in self._kept:
            if holder.get(key) is not thing or _body(thing) != body:
                return name
        return ""


def _tools() -> Iterator[tuple[str, Any, str, Any]]:
    """Functions and classes of the tools, and the functions of these classes: name, namespace, key, object."""
    for module_name, module in list(sys.modules.items()):
        if not isinstance(module, types.ModuleType) or not _is_tool(module_name):
            continue
        for key, thing in list(vars(module).items()):
            if isinstance(thing, types.FunctionType | types.BuiltinFunctionType | type):
                yield f"{module_name}.{key}", vars(module), key, thing
            if isinstance(thing, type) and thing.__module__ == module_name:
                for inner, method in list(vars(thing).items()):
                    if isinstance(method, types.FunctionType):
                        yield f"{module_name}.{key}.{inner}", vars(thing), inner, method


def _is_tool(name: str) -> bool:
    return name in TOOLS or name.startswith("labkit.")


def _body(thing: Any) -> Any:
    if not isinstance(thing, types.FunctionType):
        return None
    return (thing.__code__, thing.__defaults__, thing.__closure__)


def tools_of(check: str, stubs: Iterable[str], setup: Iterable[str]) -> str:
    """Import lines for the names of the check cell that the setup cells import and the answer doesn't define.

    Run before the check cell, they undo an answer that gave such a name another meaning. "" where there are none.
    """
    wanted = {node.id for node in ast.walk(ast.parse(check)) if isinstance(node, ast.Name)} - {"check"}
    for stub in stubs:
        wanted -= _defined(stub)
    lines = []
    for source in setup:
        for node in ast.parse(source).body:
            if isinstance(node, ast.ImportFrom) and node.level == 0:
                names = [alias for alias in node.names if (alias.asname or alias.name) in wanted]
                lines += [ast.unparse(ast.ImportFrom(node.module, names, 0))] if names else []
    return "\n".join(lines)


def _defined(source: str) -> set[str]:
    found = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            found.add(node.id)
        elif isinstance(node, ast.FunctionDef | ast.ClassDef):
            found.add(node.name)
    return found
