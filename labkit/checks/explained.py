"""Free text with a rubric: the learner marks it, and shows for each criterion the words that meet it.

No program can judge such a text, so none does: a check by this module only holds that every mark points into the text.
Its evidence says that the marks are the learner's own.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from labkit.checks.evidence import Fault, judged
from labkit.checks.result import Evidence

WORDS = 4
"""A quotation has at least so many words: fewer stand in any text."""


def self_assessed(value: Any, rubric: Mapping[str, str], *, least: int = 60) -> Iterator[Evidence]:
    """Evidence for {"text": the text, "met": {criterion: words quoted from it, or False}}.

    Args:
        value: the answer.
        rubric: for each criterion, what the text should say, as a sentence.
        least: words that a text must have at least.
    """
    text, met = (value.get(name) if type(value) is dict else None for name in ("text", "met"))
    fault = None
    if type(text) is not str or len(text.split()) < least:
        count = len(text.split()) if type(text) is str else 0
        fault = Fault(f"{count} words", f"a text of at least {least} words", next_step="write it out, then mark it.")
    yield judged("a text is there", fault, held=f"{len(text.split()) if type(text) is str else 0} words")
    yield judged("every criterion is marked", _marks_fault(met, rubric))
    assert isinstance(text, str)
    assert isinstance(met, dict)

    plain, seen = " ".join(text.split()).lower(), dict[str, str]()
    for name, sentence in rubric.items():
        fault = None
        quote = " ".join(met[name].split()) if type(met[name]) is str else ""
        if not quote:
            fault = Fault(
                f"{name}: by your own mark it isn't met",
                sentence,
                "the mark is yours; the check takes your word.",
                "add what is missing to the text, then quote it.",
            )
        elif quote.lower() not in plain or len(quote.split()) < WORDS:
            fault = Fault(
                f"{name}: “{quote}”"[:120],
                f"at least {WORDS} words that stand in your text, one after the other",
                next_step="copy the words from the text.",
            )
        elif quote.lower() in seen:
            fault = Fault(
                f"{name} and {seen[quote.lower()]} quote the same words",
                "other words for each criterion",
                next_step="which half of the sentence meets which of the two?",
            )
        seen[quote.lower()] = name
        yield judged(f"{name}: {sentence}", fault, held=f"marked by yourself, not judged by the check: “{quote[:60]}”")


def _marks_fault(met: Any, rubric: Mapping[str, str]) -> Fault | None:
    if type(met) is not dict or any(name not in met for name in rubric):
        return Fault(repr(met)[:100], f"a mark for each of {', '.join(rubric)}", next_step="check the names.")
    for name in rubric:
        if met[name] is not False and type(met[name]) is not str:
            return Fault(
                f"{name}: {met[name]!r}"[:100],
                "the words of your text that meet it, in quotes; or False",
                "a criterion is met by words, not by a yes." if met[name] is True else "",
                "quote the place.",
            )
    return None
