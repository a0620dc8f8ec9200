"""The table of public reports: audit every case and its twin, print what was found, and write docs/resume-audit.md.

python tests/resume/cases/resume_table.py              all of them; writes the table
python tests/resume/cases/resume_table.py accelerate   those whose report has this word in it; writes nothing
"""

from __future__ import annotations

import sys
import time
from pathlib import Path

import resume_checkpoints
import resume_cursors
import resume_generators
import resume_optimizers
from resume_case import Case

CASES: list[Case] = [
    *resume_optimizers.CASES,
    *resume_generators.CASES,
    *resume_cursors.CASES,
    *resume_checkpoints.CASES,
]
PAGE = Path(__file__).parents[3] / "docs" / "resume-audit.md"
OPENING = """# What the resume audit catches

`labkit.resume.audit` runs training code uninterrupted and with real kills, and names the first part of the state that
isn't the same after a resume. Each row is a small program, written for this table, that goes wrong as a public report
says, with a clean twin on which nothing may be found. Written by `python tests/resume/cases/resume_table.py`, from a
run of all of them.

"""
CLOSING = """
## What can't be seen

- What the state doesn't hold. The audit looks into what the program returns from `start` (models, optimizers,
  schedulers, scalers, objects with state_dict or plain attributes, values), the process's own generators, gradients
  that wait for an update, and what a step returns. A loader's hidden position shows one step later, as other sample
  ids; a generator in a closure shows once something drawn from it is used. The report names the parts it couldn't look
  into.
- Faults that need a longer run than `steps`: an epoch's end, a schedule's end, a counter that turns over must lie
  within it.
- Faults that need other machines: a change of the number of ranks between two lives is only seen where the program
  makes it itself, as the row for Fast-LLM#436 does.
- Power loss. SIGKILL leaves what was written in the page cache; `labkit.resume.crash_states` is for that.
- A fault of a background save that is over before the next step begins: it shows only where a step runs meanwhile.
- Gradients of an update that a loss scaler skipped are taken to be waiting, until they are set to zero.
- Code that turns a GPU's rounding into other results: declare `Statistical(...)`; its power is in the report.
"""


def judge(case: Case, *, few: bool = False) -> tuple[str, tuple[str, ...], str, tuple[str, ...]]:
    """Verdict, the components named in the fault, the first finding in words, and what was said of the twin.

    few: kill at some steps only, the end of an epoch (step 4) among them.
    """
    fault = case.run(fault=True, kill_at=[2, 4, 5] if few else "every")
    clean = case.run(fault=False, kill_at=[1, 4, 5] if few else "every")
    named, twin = tuple(one.component for one in fault.findings), tuple(one.component for one in clean.findings)
    first = fault.first.said if fault.first else ""
    right = named == (case.component,)
    return ("false alarm" if twin else "detected" if right else "missed"), named, first, twin


def page(rows: list[tuple[Case, str, tuple[str, ...], str, tuple[str, ...]]]) -> str:
    """The table as Markdown."""
    lines = ["| report | what goes wrong | first component that differs | seen | twin |", "|---|---|---|---|---|"]
    for case, verdict, named, first, twin in rows:
        name = ", ".join(named) or "nothing"
        caught = name if verdict == "detected" else f"**{verdict}**: {name}"
        seen = first.replace("|", "/")
        lines.append(f"| {case.report} | {case.wrong} | {caught} | {seen} | {', '.join(twin) or 'silent'} |")
    right = sum(verdict == "detected" for _, verdict, _, _, _ in rows)
    return OPENING + "\n".join(lines) + f"\n\n{len(rows)} rows: {right} detected, twin silent.\n" + CLOSING


def main(words: list[str]) -> int:
    """Print the table and, where all cases ran, write it. 1 if anything was missed or a false alarm, else 0."""
    rows, started = [], time.perf_counter()
    for case in CASES:
        if all(word in case.report for word in words):
            rows.append((case, *judge(case)))
            _, verdict, named, first, twin = rows[-1]
            alarm = f"; on the twin {', '.join(twin)}" if twin else ""
            print(f"{verdict:12} {case.report:24} {', '.join(named) or 'nothing'}{alarm}: {first}", flush=True)
    if not words:
        PAGE.parent.mkdir(exist_ok=True)
        PAGE.write_text(page(rows), encoding="utf-8")
    print(f"{len(rows)} rows in {time.perf_counter() - started:.0f} s")
    return int(any(verdict != "detected" for _, verdict, _, _, _ in rows))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
