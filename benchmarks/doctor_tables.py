"""The stall doctor's figures as Markdown: how often it is right, what its predictions are worth, what peers say."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from statistics import median

from benchmarks.doctor_runs import Row

HEALTHY, UNSURE, MIXED, TOO_FEW = "healthy", "not enough evidence", "mixed", "too few workers"
FAILED = "failed"
Z = 1.959964  # 95 % of a normal distribution lies within that many sigmas
RIGHT, WRONG, GAIN, MAKESPAN = 0.90, 0.03, 0.10, 0.03  # the bars


def wilson(hits: int, runs: int) -> tuple[float, float]:
    """Wilson's score interval, 95 %, of a share of `hits` in `runs`.

    Source: E. B. Wilson, Probable inference, the law of succession, and statistical inference, JASA 22 (1927).
    """
    if runs == 0:
        return 0.0, 1.0
    share, z2 = hits / runs, Z * Z
    middle = (share + z2 / (2 * runs)) / (1 + z2 / runs)
    half = Z / (1 + z2 / runs) * math.sqrt(share * (1 - share) / runs + z2 / (4 * runs * runs))
    return max(0.0, middle - half), min(1.0, middle + half)


def verdict(row: Row) -> str:
    """right, wrong (another cause than the planted one was named) or abstained (no cause was named)."""
    said = row.get("said", FAILED)
    if said == row["truth"]:
        return "right"
    return "abstained" if said in (UNSURE, FAILED) else "wrong"


def table(heads: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """A Markdown table, padded so that it reads in a terminal too."""
    lines = [list(heads), *([str(cell) for cell in row] for row in rows)]
    widths = [max(len(line[i]) for line in lines) for i in range(len(heads))]
    text = ["| " + " | ".join(cell.ljust(w) for cell, w in zip(line, widths, strict=True)) + " |" for line in lines]
    text.insert(1, "|" + "|".join("-" * (w + 2) for w in widths) + "|")
    return "\n".join(text)


def share(hits: int, runs: int) -> str:
    """A share with its interval."""
    low, high = wilson(hits, runs)
    return f"{hits}/{runs}, {low:.0%} to {high:.0%}"


def named(rows: Sequence[Row], kinds: Sequence[str]) -> str:
    """Right, wrong and abstained, for each planted cause and for all of them."""
    lines = []
    for kind in [*(k for k in kinds if k != MIXED), "all of these", *(k for k in kinds if k == MIXED)]:
        mine = [r for r in rows if r["what"] == kind or (kind == "all of these" and r["what"] != MIXED)]
        if not mine:
            continue
        told = Counter(map(verdict, mine))
        seconds = [r["seconds"] for r in mine if "seconds" in r]
        took = f"{median(seconds):.1f}" if seconds else ""
        lines.append(
            (kind, share(told["right"], len(mine)), share(told["wrong"], len(mine)), told["abstained"] or "", took)
        )
    return table(("planted", "right (95 % interval)", "another cause named", "abstained", "s, median"), lines)


def matrix(rows: Sequence[Row], kinds: Sequence[str], causes: Sequence[str]) -> str:
    """Planted causes down, answers across; the numbers across are those of the lines, U: not enough evidence."""
    answers = [*(k for k in kinds if k != MIXED), UNSURE]
    answers += [c for c in causes if c not in answers]
    told = Counter((r["what"], r.get("said", FAILED)) for r in rows)
    if any(said == FAILED for _, said in told):
        answers.append(FAILED)
    short = {answer: str(i + 1) for i, answer in enumerate(answers)} | {UNSURE: "U", FAILED: "F"}
    lines = [
        (f"{short.get(kind, '')} {kind}".strip(), *(told[kind, answer] or "·" for answer in answers)) for kind in kinds
    ]
    return table(("planted", *(short[answer] for answer in answers)), lines)


def confusions(rows: Sequence[Row]) -> str:
    """Every run that wasn't named right, one line each."""
    lines = []
    for row in rows:
        if verdict(row) != "right":
            said = row.get("said") or row["failed"]
            lines.append(f"- {row['what']}, seed {row['seed']} (truth: {row['truth']}): {said}")
    return "\n".join(lines) or "None."


def peers(rows: Sequence[Row], kinds: Sequence[str]) -> str:
    """What a threshold on the share of waiting says about the same runs."""
    lines = []
    for kind in kinds:
        shares = [r["share"] for r in rows if r["what"] == kind and r.get("share") is not None]
        if not shares:
            lines.append((kind, "", *("the run failed",) * 2, ""))
            continue
        five, twenty = (sum(s > limit for s in shares) for limit in (0.05, 0.20))
        plugin = f"{five}/{len(shares)}" + (", right" if kind == TOO_FEW else ", wrong" if five else "")
        lines.append((kind, f"{median(shares):.0%}", f"{five}/{len(shares)}", f"{twenty}/{len(shares)}", plugin))
    heads = ("planted", "share of waiting, median", "above 5 %", "above 20 %", '"set num_workers" (5 %)')
    return table(heads, lines)


def errors(pairs: Sequence[tuple[float, float]]) -> list[float]:
    """Relative errors of (predicted, achieved), without their sign."""
    return [abs(predicted / achieved - 1) for predicted, achieved in pairs]


def gains(rows: Sequence[Row], kinds: Sequence[str]) -> str:
    """Predicted against achieved gains, for each cause."""
    lines = []
    every: list[float] = []
    for kind in kinds:
        mine = [r["applied"] for r in rows if r["what"] == kind and "applied" in r]
        if not mine:
            continue
        off = errors([(a["predicted_gain"], a["gain"]) for a in mine])
        every += off if kind != MIXED else []
        worst = max(mine, key=lambda a: abs(a["predicted_gain"] / a["gain"] - 1))
        lines.append(
            (
                kind,
                len(mine),
                f"{median(a['predicted_gain'] for a in mine):.2f}",
                f"{median(a['gain'] for a in mine):.2f}",
                f"{median(off):.1%}",
                f"{max(off):.1%} ({worst['predicted_gain']:.2f} for {worst['gain']:.2f})",
            )
        )
    if every:
        lines.append(("all but mixed", len(every), "", "", f"{median(every):.1%}", f"{max(every):.1%}"))
    return table(("planted", "runs", "predicted, median", "achieved, median", "error, median", "worst"), lines)


def gain_errors(rows: Sequence[Row]) -> list[float]:
    """Of all runs but mixed ones."""
    made = [r["applied"] for r in rows if "applied" in r and r["what"] != MIXED]
    return errors([(a["predicted_gain"], a["gain"]) for a in made])


MODELS = {
    "predicted": "the recurrence on the run's own trace, with its cost of a fetch",
    "no fetch": "the same, a fetch costs nothing",
    "from another run": "the recurrence on the trace of another run (1 worker, 1 batch ahead)",
}


def makespans(rows: Sequence[Row]) -> str:
    """Errors of each way to predict, over all settings and for each kind of work."""
    lines = []
    for model, words in MODELS.items():
        for work in ("sleep", "decode", "all"):
            mine = [r for r in rows if r["what"] == "makespan" and "achieved" in r and work in ("all", r["work"])]
            if mine:
                off = errors([(r[model], r["achieved"]) for r in mine])
                worst = mine[off.index(max(off))]
                where = "{work}, {workers} workers, prefetch_factor {factor}, spread {spread}, ratio {ratio}".format(
                    **worst
                )
                lines.append((words, work, len(mine), f"{median(off):.1%}", f"{max(off):.1%}", where))
    return table(("prediction", "work", "settings", "error, median", "worst", "at"), lines)


def makespan_errors(rows: Sequence[Row]) -> list[float]:
    made = [r for r in rows if r["what"] == "makespan" and "achieved" in r]
    return errors([(r["predicted"], r["achieved"]) for r in made])


def bars(rows: Sequence[Row], kinds: Sequence[str]) -> list[tuple[str, str, bool]]:
    """What was asked for, what was measured, and whether it is met."""
    runs = [r for r in rows if r["what"] in kinds and r["what"] != MIXED]
    found = []
    for kind in kinds:
        told = Counter(verdict(r) for r in runs if r["what"] == kind)
        if told and kind != HEALTHY:
            found.append((told["right"] / told.total(), kind))
    if found:
        least, kind = min(found)
        found_text = f"{least:.0%} ({kind})"
        made = [("each cause named right in 90 %", f"least {found_text}", least >= RIGHT)]
    else:
        made = []
    if runs:
        wrong = sum(verdict(r) == "wrong" for r in runs) / len(runs)
        made.append(("another cause named in 3 % at most", f"{wrong:.1%} of {len(runs)} runs", wrong <= WRONG))
    if healthy := [r for r in runs if r["what"] == HEALTHY]:
        right = sum(verdict(r) == "right" for r in healthy)
        made.append(("healthy jobs called healthy, all", f"{right} of {len(healthy)}", right == len(healthy)))
    if off := gain_errors(rows):
        made.append(("gain predicted within 10 %, median", f"{median(off):.1%}", median(off) <= GAIN))
    if off := makespan_errors(rows):
        text = f"{median(off):.1%}, worst {max(off):.1%}, {len(off)} settings"
        made.append(
            ("makespan predicted within 3 %, median, 40 settings", text, median(off) <= MAKESPAN and len(off) >= 40)
        )
    return made


def report(rows: Sequence[Row], kinds: Sequence[str], causes: Sequence[str], told: str) -> str:
    """Everything, as it stands in the documentation."""
    runs = [r for r in rows if r["what"] in kinds]
    met = table(("asked for", "measured", "met"), [(a, b, "yes" if c else "NO") for a, b, c in bars(rows, kinds)])
    parts = [
        told,
        met,
        "### How often the cause is named\n\n" + named(runs, kinds),
        "Answers across, by the number of their line; U: not enough evidence.\n\n" + matrix(runs, kinds, causes),
        "Runs that weren't named right:\n\n" + confusions(runs),
        "### What a threshold says about the same runs\n\n" + peers(runs, kinds),
        "### Gain of the advice, predicted and achieved\n\n" + gains(runs, kinds),
        "### Makespan, predicted and achieved\n\n" + makespans(rows),
    ]
    return "\n\n".join(parts) + "\n"


BEGIN, END = "<!-- measured: begin -->", "<!-- measured: end -->"


def laid_in(page: str, text: str) -> str:
    """The page with `text` between its two markers.

    Raises:
        ValueError: a marker is missing.
    """
    before, begin, rest = page.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not begin or not end:
        raise ValueError(f"the page has no {BEGIN} ... {END}")
    return f"{before}{BEGIN}\n\n{text.strip()}\n\n{END}{after}"
