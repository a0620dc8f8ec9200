"""A measured pass over its prediction: in each lane the predicted bars above, the measured ones below, on one axis."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pandas as pd
from matplotlib.figure import Figure
from matplotlib.patches import Patch

from labkit.errors import UsageError
from labkit.picture import Picture
from labkit.pipeline.drawing import STYLES, Lane, timeline_lanes
from labkit.pipeline.measurement_views import trainer_lane, worker_lanes

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from labkit.pipeline.measurement import Measurement
    from labkit.pipeline.timeline import Timeline

_MOST = 60  # batches that a picture holds; with more the two rows of bars can't be told apart
_KEY = (("prepare", "prepare"), ("blocked", "worker blocked"), ("train", "train"), ("wait", "trainer waits"))


def overlay(
    measured: Measurement, predicted: Timeline | None = None, *, start: float = 0.0, title: str | None = None
) -> Picture:
    """The measured lanes over the predicted ones.

    Args:
        measured: what `probe` returned.
        predicted: a line of as many batches; where it isn't given, the one that the measured prepare and train times
            give by the exact recurrence.
        start: where on the measurement's axis the prediction's time 0 lies, ms: when the workers were there.
        title: one line above the picture; makespans, and how far they are apart, where it isn't given.

    Raises:
        UsageError: the prediction has another number of batches, or batches arrived out of order and no prediction is
            given.
    """
    line = measured.timeline() if predicted is None else predicted
    if len(line) != len(measured):
        raise UsageError(f"the prediction has {len(line)} batches, the measurement {len(measured)}: give one for each")
    count = min(len(measured), _MOST)
    above = _by_name(timeline_lanes(line, count), start)
    below = _by_name([*worker_lanes(measured, count), ("trainer", trainer_lane(measured, count))])
    names = [*sorted({*above, *below} - {"trainer"}), "trainer"]
    whole = line.makespan + start
    off = measured.makespan / whole - 1
    words = f"predicted {whole:.4g} ms, measured {measured.makespan:.4g} ms ({off:+.1%})"

    figure = Figure(figsize=(9.6, 1.35 + 0.72 * len(names)), layout="constrained")
    axes = figure.add_subplot()
    last = max([end for lane in (*above.values(), *below.values()) for _, end, _ in lane], default=1.0)
    axes.set_xlim(0, last * 1.004)
    axes.set_ylim(len(names) - 0.45, -0.55)
    axes.set_yticks(range(len(names)), names)
    axes.tick_params(axis="y", length=0)
    axes.spines[["top", "right", "left"]].set_visible(False)
    axes.set_xlabel("time (ms)")
    axes.grid(axis="x", color="#dddddd", linewidth=0.6)
    axes.set_axisbelow(True)
    for place, name in enumerate(names):
        _bars(axes, above.get(name, []), place - 0.4, 0.27, {"linestyle": "--", "alpha": 0.55})
        _bars(axes, below.get(name, []), place - 0.1, 0.48, {})
        for text, where in (("predicted", place - 0.27), ("measured", place + 0.14)):
            axes.text(last * 1.008, where, text, fontsize=7.5, va="center", clip_on=False)
    axes.set_title(title or words, fontsize=11, loc="left")
    used = {style for lane in (*above.values(), *below.values()) for *_, style in lane}
    handles = [Patch(label=said, **STYLES[style]) for style, said in _KEY if style in used]
    figure.legend(handles=handles, loc="outside lower right", ncols=len(handles), fontsize=9, frameon=False)
    return Picture(figure, _alt(measured, line, words, count), _table(measured, line, start).head(_MOST))


def _by_name(lanes: list[Lane], start: float = 0.0) -> dict[str, list[tuple[float, float, str]]]:
    """The lanes' (begin, end, style) by name, moved by `start`; a lone worker is called worker 0, as when measured."""
    found = {}
    for name, items in lanes:
        moved = [(begin + start, end + start, style) for begin, end, _, style in items]
        if name == "trainer" and start and moved and moved[0][2] == "wait":  # it waits from 0 on
            moved[0] = (0.0, *moved[0][1:])
        found["worker 0" if name == "worker" else name] = moved
    return found


def _bars(axes: Axes, items: list[tuple[float, float, str]], top: float, height: float, extra: Any) -> None:
    for begin, end, style in items:
        axes.broken_barh([(begin, end - begin)], (top, height), **{**STYLES[style], **extra})


def _table(measured: Measurement, line: Timeline, start: float) -> pd.DataFrame:
    return pd.DataFrame(
        {
            "batch": range(len(line)),
            "train starts, predicted": [start + at for at in line.train_start],
            "train starts, measured": measured.train_start,
            "wait, predicted": [line.waits[0] + start, *line.waits[1:]],
            "wait, measured": measured.fetch_waits,
        }
    ).round(2)


def _alt(measured: Measurement, line: Timeline, words: str, count: int) -> str:
    some = f" The first {count} of {len(line)} batches are drawn." if count < len(line) else ""
    who = f"{measured.workers} worker{'s' * (measured.workers != 1)}" if measured.workers else "no workers seen"
    return (
        f"A measured pass below its prediction, lane by lane; {who}, prefetch_factor {measured.prefetch_factor}, "
        f"{len(line)} batches: {words}. After the first batch the trainer waits {line.stall:.4g} ms by prediction and "
        f"{sum(measured.fetch_waits[1:]):.4g} ms measured.{some}"
    )
