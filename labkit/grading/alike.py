"""Answers of different learners that are nearly the same: for a person to look at, never a verdict.

An answer is compared as a tree: comments, layout and the names that it gives to its own variables don't count, nor do
numbers (everybody has other ones). Answers that are short, or little more than what was released, look alike anyway
and are left out.
"""

from __future__ import annotations

import ast
import builtins
import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

LEAST = 40  # nodes of a tree: below, two people easily write the same
NEAR = 0.85  # share of pieces in common
PIECE = 5  # nodes in a row that make a piece
TEXT = 40  # characters from which on a string is a text, whose words count
MOST_NODES = 5_000  # of one answer that are compared
USUAL = 1 / 4  # share of a class with the same answer from which on it is the usual way to write it


@dataclass(frozen=True)
class Alike:
    """A group of answers to one exercise.

    exercise: its id. learners: two or more. share: how much of their pieces all have in common at least, 1 for all.
    word_for_word: whether the text is the same, comments included, but for spaces.
    usual: so many have it that it may just be the way to write it.
    """

    exercise: str
    learners: tuple[str, ...]
    share: float
    word_for_word: bool
    usual: bool


@dataclass(frozen=True)
class _Form:
    text: str
    pieces: frozenset[tuple[str, ...]]


def alike(exercise: str, sources: Mapping[str, str], released: Iterable[str]) -> list[Alike]:
    """Groups of nearly identical answers to one exercise, the most telling first.

    sources: learner -> code. released: code that everybody was given (stub, given cells), which counts for nothing.
    """
    given = set().union(*(form.pieces for text in released if (form := _form(text)))) if released else set()
    forms: dict[str, _Form] = {}
    for learner, source in sorted(sources.items()):
        form = _form(source)
        if form is not None and len(form.pieces - given) + PIECE > LEAST:
            forms[learner] = _Form(form.text, frozenset(form.pieces - given))
    exact: dict[frozenset[tuple[str, ...]], list[str]] = defaultdict(list)
    for learner, form in forms.items():
        exact[form.pieces].append(learner)
    groups = _joined(list(exact))
    found = []
    for group in groups:
        learners = tuple(sorted(learner for pieces in group for learner in exact[pieces]))
        if len(learners) > 1:
            share = min((_share(a, b) for a in group for b in group), default=1.0)
            same = len({forms[learner].text for learner in learners}) == 1
            found.append(Alike(exercise, learners, share, same, len(learners) > max(3, USUAL * len(sources))))
    return sorted(found, key=lambda one: (one.usual, not one.word_for_word, -one.share, one.learners))


def _joined(forms: Sequence[frozenset[tuple[str, ...]]]) -> list[list[frozenset[tuple[str, ...]]]]:
    """Forms that are near to each other, directly or through others."""
    group_of = list(range(len(forms)))
    for i, one in enumerate(forms):
        for j in range(i):
            short, long = sorted((len(one), len(forms[j])))
            if short >= NEAR * long and _share(one, forms[j]) >= NEAR:
                old, new = group_of[i], group_of[j]
                group_of = [new if group == old else group for group in group_of]
    groups: dict[int, list[frozenset[tuple[str, ...]]]] = defaultdict(list)
    for form, group in zip(forms, group_of, strict=True):
        groups[group].append(form)
    return list(groups.values())


def _share(one: frozenset[tuple[str, ...]], other: frozenset[tuple[str, ...]]) -> float:
    return len(one & other) / max(1, len(one | other))


def _form(source: str) -> _Form | None:
    """The answer without what doesn't count; None where it isn't Python."""
    try:
        nodes = _nodes(ast.parse(source))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None
    counted: dict[tuple[str, ...], int] = defaultdict(int)
    pieces = set()
    for i in range(max(0, len(nodes) - PIECE + 1)):
        piece = tuple(nodes[i : i + PIECE])
        counted[piece] += 1
        pieces.add((*piece, str(counted[piece])))  # the second of two equal pieces is another one
    return _Form(re.sub(r"\s+", " ", source).strip(), frozenset(pieces))


def _nodes(tree: ast.AST) -> list[str]:
    """The tree's nodes in order of the text, own names numbered, numbers and texts by their kind only."""
    own: dict[str, str] = {}
    found: list[str] = []
    stack: list[ast.AST] = [tree]
    while stack and len(found) < MOST_NODES:
        node = stack.pop()
        if isinstance(node, ast.expr_context | ast.Load | ast.Module):
            pass
        elif isinstance(node, ast.Name):
            found.append(node.id if hasattr(builtins, node.id) else own.setdefault(node.id, f"name{len(own)}"))
        elif isinstance(node, ast.arg):
            found.append(own.setdefault(node.arg, f"name{len(own)}"))
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and len(node.value) > TEXT:
            found += node.value.lower().split()
        elif isinstance(node, ast.Constant):
            found.append(type(node.value).__name__)
        elif isinstance(node, ast.Attribute):
            found.append(f".{node.attr}")
        else:
            found.append(type(node).__name__)
        children = [child for child in ast.iter_child_nodes(node) if not _docstring(child)]
        stack.extend(reversed(children))
    return found


def _docstring(node: ast.AST) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)
