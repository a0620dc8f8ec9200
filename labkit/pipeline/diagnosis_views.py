"""A diagnosis as a picture, as a card in a notebook, and as a page of its own."""

from __future__ import annotations

import base64
import html
from datetime import date
from importlib.metadata import version
from typing import TYPE_CHECKING

import pandas as pd
from matplotlib.figure import Figure

from labkit import picture
from labkit.picture import Picture
from labkit.pipeline.diagnosis_causes import HEALTHY, MIB, UNSURE, digits
from labkit.words import counted

if TYPE_CHECKING:
    from labkit.pipeline.diagnosis import Diagnosis

_WAIT = {"facecolor": "white", "edgecolor": picture.RED, "hatch": "////", "linewidth": 0.8}
_TRAIN = {"facecolor": picture.ORANGE, "edgecolor": "black", "linewidth": 0.6}
_ROOM = 0.12  # of the widest bar: narrower parts have their words beside the bar
_READ = {"facecolor": picture.SKY, "edgecolor": "black", "linewidth": 0.6}

_STYLE = """
:root { color-scheme: light dark; }
body { font: 16px/1.5 system-ui, sans-serif; max-width: 60rem; margin: 2rem auto; padding: 0 1rem;
       background: #fff; color: #1a1a1a; }
h1 { font-size: 1.6rem; margin-bottom: .2rem; } h2 { font-size: 1.15rem; margin-top: 1.8rem; }
table { border-collapse: collapse; } th, td { text-align: left; vertical-align: top; padding: .3rem .9rem .3rem 0;
       border-bottom: 1px solid #bbb; } td.number { text-align: right; font-variant-numeric: tabular-nums; }
img { max-width: 100%; height: auto; background: #fff; border-radius: 4px; padding: 4px; }
code { font-size: .95em; } .advice { border-left: 6px solid #0072B2; padding: .4rem 1rem; }
@media (prefers-color-scheme: dark) { body { background: #16181c; color: #e8e8e8; }
       th, td { border-color: #555; } .advice { border-color: #56B4E9; } }
"""


def table(d: Diagnosis) -> pd.DataFrame:
    """The experiments: ms a batch in each, and what the advice is predicted to make of it."""
    rows = [(name, value) for name, value in d.parts.items() if value is not None]
    if d.record is not None and (found := d.verdict.remedy) is not None and found.gain != 1:
        rows.append(("epoch, by the recurrence", d.record.replayed().makespan / found.plan.batches))
        rows.append(
            ("epoch with the advice, predicted", d.record.replayed().makespan / found.plan.batches / found.gain)
        )
    return pd.DataFrame(rows, columns=["experiment", "ms a batch"])


def draw(d: Diagnosis) -> Picture:
    """One bar for each experiment; waiting is hatched."""
    numbers = table(d)
    figure = Figure(figsize=(9.6, 2.8), layout="constrained")
    axes = figure.add_subplot()
    r = d.record
    bars: list[tuple[str, list[tuple[float, dict[str, object], str]]]] = []
    if r is not None:
        bars.append(("both", [(r.mean_train, _TRAIN, "train"), (r.mean_wait, _WAIT, "wait")]))
        if r.cached_train is not None:
            bars.append(("train-only,\nfrom memory", [(r.cached_train, _TRAIN, "train")]))
        if r.read_only is not None:
            bars.append(("read-only", [(r.read_only, _READ, "read")]))
        if d.predicted_gain is not None and d.predicted_gain != 1:
            after = float(numbers["ms a batch"].iloc[-1])
            bars.append(
                ("with the advice,\npredicted", [(after, {**_READ, "facecolor": picture.GREEN}, "epoch / batches")])
            )
    widest = max((sum(width for width, _, _ in parts) for _, parts in bars), default=1.0)
    for place, (_, parts) in enumerate(bars):
        left, beside = 0.0, []
        for width, style, word in parts:
            axes.barh(place, width, left=left, height=0.62, **style)  # type: ignore[arg-type]
            words = f"{word} {digits(width)}"
            if width > _ROOM * widest:
                back = {"facecolor": "white", "edgecolor": "none", "pad": 1.0} if "hatch" in style else None
                axes.text(left + width / 2, place, words, ha="center", va="center", fontsize=9, bbox=back)
            elif width > 0:
                beside.append(words)
            left += width
        axes.text(left + 0.01 * widest, place, ", ".join(beside), ha="left", va="center", fontsize=9)
    axes.set_yticks(range(len(bars)), [name for name, _ in bars])
    axes.invert_yaxis()
    axes.set_xlabel("ms a batch")
    axes.spines[["top", "right", "left"]].set_visible(False)
    axes.tick_params(axis="y", length=0)
    gain = f"; predicted {d.predicted_gain:.2f} times as fast" if d.predicted_gain not in (None, 1.0) else ""
    axes.set_title(f"{d.cause}{gain}", fontsize=11, loc="left")
    told = ", ".join(f"{name} {digits(value)}" for name, value in numbers.itertuples(index=False, name=None))
    alt = f"The experiments of a diagnosis, ms a batch: {told or 'none could be measured'}. Verdict: {d.cause}{gain}."
    return Picture(figure, alt, numbers.round(3))


def card(d: Diagnosis) -> str:
    """For a notebook: the verdict, the advice, what was ruled out; colours come from JupyterLab's theme."""
    border = picture.GREEN if d.cause == HEALTHY else picture.ORANGE if d.cause == UNSURE else picture.RED
    return (
        f'<section aria-label="Diagnosis: {html.escape(d.cause)}" class="labkit-diagnosis" style="border-left:6px '
        f"solid {border};padding:8px 14px;margin:6px 0;background:var(--jp-layout-color2,#f5f5f5);"
        'color:var(--jp-content-font-color1,#111);font-size:14px;line-height:1.45;max-width:980px">'
        f"<p style='margin:0 0 6px'><strong>{html.escape(d.cause)}</strong>: {html.escape(d.evidence)}</p>"
        f"{_advice(d)}{_rivals(d)}</section>"
    )


def page(d: Diagnosis, name: str = "") -> str:
    """Self-contained: no script, no font and no picture from elsewhere."""
    drawn = draw(d)
    image = base64.b64encode(drawn.png()).decode()
    rows = "".join(
        f"<tr><td>{html.escape(str(name))}</td><td class='number'>{value:.3f}</td></tr>"
        for name, value in table(d).itertuples(index=False, name=None)
    )
    step = "" if d.step_given else "<p>No step was given: a stand-in that sleeps took its place.</p>"
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{html.escape(d.cause)}</title><style>{_STYLE}</style></head><body><main>"
        f"<h1>{html.escape(d.cause)}</h1><p>{html.escape(_about(d, name))}</p><p>{html.escape(d.evidence)}</p>{step}"
        f"{_advice(d)}<h2>Measured here</h2>"
        f'<img alt="{html.escape(drawn.alt, quote=True)}" src="data:image/png;base64,{image}">'
        f"<table><thead><tr><th scope='col'>Experiment</th><th scope='col'>ms a batch</th></tr></thead>"
        f"<tbody>{rows}</tbody></table>{_rivals(d)}"
        f"<p>The experiments took {d.seconds:.1f} s.</p></main></body></html>\n"
    )


def _about(d: Diagnosis, name: str) -> str:
    """What was measured, on what, when."""
    said = [name] if name else []
    if (r := d.record) is not None:
        hidden = "workers that can't be seen"
        said.append(hidden if r.workers is None else counted(r.workers, "worker"))
        if r.workers:
            said.append(f"prefetch_factor {r.prefetch_factor}")
        said.append(f"batches of {digits(r.batch_size)} samples, {digits(r.batch_bytes / MIB)} MiB")
        said.append(counted(r.cores, "core"))
    said += [f"torch {version('torch')}", f"{date.today():%-d %B %Y}"]
    return " · ".join(said)


def _advice(d: Diagnosis) -> str:
    if not d.advice:
        return ""
    found, brings = d.verdict.remedy, ""
    if found is not None and d.record is not None:
        less = f"{digits(found.saves / MIB, 4)} MiB less"
        brings = less if found.saves else f"an epoch {found.gain:.2f} times as fast"
        brings = f" Predicted: {brings} (computed from the recorded trace)."
    return f'<p class="advice"><strong>Advice:</strong> {html.escape(d.advice)}.{brings}</p>'


def _rivals(d: Diagnosis) -> str:
    parts = []
    holds, holds_not = "Holds too, brings less", "Ruled out"
    if d.cause == UNSURE:
        holds, holds_not = "Looked like this; not to be relied on", "No sign of these; not to be relied on"
    groups = (
        (holds, d.verdict.second),
        (holds_not, d.ruled_out),
        ("Not seen", d.verdict.unseen),
    )
    for title, group in groups:
        if group:
            rows = "".join(
                f'<tr><th scope="row" style="font-weight:normal;text-align:left;vertical-align:top;white-space:nowrap;'
                f'padding-right:14px">{html.escape(cause)}</th><td style="text-align:left">{html.escape(why)}</td></tr>'
                for cause, why in group.items()
            )
            parts.append(f"<details open><summary>{title}</summary><table>{rows}</table></details>")
    return "".join(parts)
