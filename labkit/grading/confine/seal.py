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
        tools = [(name, module) for name, module in list(sys.modules.items()) if module and _is_tool(name)]
        self._kept = [(name, holder, key, thing, _body(thing)) for name, holder, key, thing in _parts(tools)]
        self._modules = [(name, module, frozenset(vars(module))) for name, module in tools]

    def broken(self) -> str:
        """The first tool that isn't what it was, "" where all are."""
        for name, holder, key, thing, body in self._kept:
            if holder.get(key) is not thing or _body(thing) != body:
                return name
        for name, module, keys in self._modules:
            if sys.modules.get(name) is not module:
                return name
            for key in vars(module).keys() - keys:  # some names are looked up on first use: a new one would win
                if getattr(vars(module)[key], "__module__", "") == "__main__":
                    return f"{name}.{key}"
        return ""


def _parts(modules: Iterable[tuple[str, types.ModuleType]]) -> Iterator[tuple[str, Any, str, Any]]:
    """Functions and classes of modules, and the functions of these classes: name, namespace, key, object."""
    for module_name, module in modules:
        for key, thing in list(vars(module).items()):
            a_class = issubclass(type(thing), type)
            if a_class or type(thing) in (types.FunctionType, types.BuiltinFunctionType):
                yield f"{module_name}.{key}", vars(module), key, thing
            if a_class and thing.__module__ == module_name:
                for inner, method in list(vars(thing).items()):
                    if type(method) is types.FunctionType:
                        yield f"{module_name}.{key}.{inner}", vars(thing), inner, method


def _is_tool(name: str) -> bool:
    return name in TOOLS or name.startswith("labkit.")


def _body(thing: Any) -> Any:
    if type(thing) is not types.FunctionType:
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
