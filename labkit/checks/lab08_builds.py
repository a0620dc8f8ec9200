"""The rules by which lab 08 judges functions: a loader that goes on from what was committed, a save in mid-step."""

from __future__ import annotations

import random
from collections import Counter
from typing import Any

from labkit.checks.evidence import Fault, Rule
from labkit.checks.lab08_accumulation import Accumulation, Row, updates_of

# cursor.loader -----------------------------------------------------------------------------------------------------

Stops = list[list[int]]


def walk_inputs(rng: random.Random) -> list[tuple[int, int, int, int, Stops, int]]:
    """(samples, batch_size, seed, workers, stops, total): nothing stopped, then one stop, prefetch, epoch's end."""
    seed = rng.randint(1, 999)
    taken = rng.randint(4, 6)
    return [
        (12, 3, seed, 0, [], 8),
        (12, 3, seed, 0, [[2, 2]], 8),
        (12, 3, seed, 0, [[3, 1]], 8),
        (12, 3, seed, 0, [[4, 4]], 8),
        (14, 4, seed + 1, 0, [[7, 6]], 12),
        (40, 4, seed + 2, 2, [[taken + 2, taken]], 20),
        (24, 4, seed + 3, 2, [[4, 2], [5, 3]], 12),
        (2000, 10, seed, 0, [[150, 150]], 155),
    ]


def _each_once(found: Any, samples: int, batch_size: int, seed: int, workers: int, stops: Stops, total: int) -> Any:
    per_epoch = -(-samples // batch_size)
    whole = found["whole"]
    for epoch in range(total // per_epoch):
        ids = [i for batch in whole[epoch * per_epoch : (epoch + 1) * per_epoch] for i in batch]
        if sorted(ids) != list(range(samples)):
            again = [i for i, n in Counter(ids).items() if n > 1]
            seen = f"epoch {epoch}: {len(ids)} samples read, {len(set(ids))} different"
            return Fault(
                seen + (f"; sample {again[0]} comes again" if again else ""),
                f"each of the {samples} samples once an epoch, when nobody stops the loop",
                "the walk gives nothing after the first epoch." if not ids else "",
                "`for batch in loader` must walk one epoch; the loop starts it again for the next one.",
            )
    return None


def _new_order(found: Any, samples: int, batch_size: int, seed: int, workers: int, stops: Stops, total: int) -> Any:
    per_epoch = -(-samples // batch_size)
    whole = found["whole"]
    if total < 2 * per_epoch or whole[:per_epoch] != whole[per_epoch : 2 * per_epoch]:
        return None
    return Fault(
        "epoch 1 has the order of epoch 0",
        "a new order every epoch",
        "the epoch isn't counted, or not used for the order.",
        "epoch_batches(samples, batch_size, seed, epoch) takes the epoch: who adds 1 to it, and when?",
    )


def _not_empty(found: Any, samples: int, batch_size: int, seed: int, workers: int, stops: Stops, total: int) -> Any:
    if not found["empty"]:
        return None
    return Fault(
        "a walk that gives no batch",
        "each walk gives at least one batch: a training loop counts walks as epochs",
        "the state was saved at the end of an epoch, and the resumed loader walks the nothing that is left of it.",
        "at the start of __iter__: if the epoch is used up, go on to the next one.",
    )


def _goes_on(found: Any, samples: int, batch_size: int, seed: int, workers: int, stops: Stops, total: int) -> Any:
    whole, applied, per_epoch = found["whole"], found["applied"], -(-samples // batch_size)
    if whole == applied:
        return None
    place = next((i for i, (a, b) in enumerate(zip(applied, whole, strict=False)) if a != b), len(applied))
    first = stops[0] if stops else [0, 0]
    got = applied[place] if place < len(applied) else None
    where = whole.index(got) if got in whole else None
    why = ""
    if got is not None and place == first[1] and where is not None:
        if where == first[0]:
            why = "it goes on after what was handed out: batches that were never applied are lost."
        elif where > place:
            why = f"{where - place} batches that were never applied are lost."
        elif place - where >= per_epoch > where:
            why = "it is in the order of an earlier epoch: the epoch didn't come back."
        elif where == 0 and place:
            why = "it begins again from the start: what was applied is applied twice."
        else:
            why = f"{place - where} batches are applied twice."
    elif got is not None and where is None:
        why = "it is in another order: an epoch or a seed didn't come back."
    return Fault(
        f"batch {place} applied is {got}" if got is not None else f"only {len(applied)} batches come",
        f"{whole[place] if place < len(whole) else 'nothing more'}, as in the loop that nobody stopped",
        why,
        "which number does state_dict() hold after three batches are handed out, and one commit()?",
    )


def _no_reads(found: Any, samples: int, batch_size: int, seed: int, workers: int, stops: Stops, total: int) -> Any:
    if workers or samples < 1000:
        return None
    needed = (total - stops[0][1]) * batch_size
    if found["reads"] <= 2 * needed:
        return None
    return Fault(
        f"{found['reads']} samples read to get {needed}, after the resume",
        "what lies before the cursor isn't read again",
        "the batches before the cursor are read and thrown away: after a long epoch that takes as long as training.",
        "leave the *ids* out, before the DataLoader reads them: batches[cursor:].",
    )


LOADER_RULES = [
    Rule("without a stop, each sample once an epoch", _each_once),
    Rule("each epoch has its own order", _new_order),
    Rule("no walk is empty", _not_empty),
    Rule("stopped and resumed, the same batches are applied in the same order", _goes_on),
    Rule("a resume reads nothing that was applied before", _no_reads),
]


# accumulate.mid_step -----------------------------------------------------------------------------------------------


def mid_step_inputs(rng: random.Random) -> list[tuple[int, int, int, int]]:
    """(seed, accumulate, micros, until): at a boundary, 3 of 4 done, 1 of 4, and others."""
    seed = rng.randint(1, 9_999)
    return [(seed, 4, 8, 4), (seed, 4, 7, 4), (seed, 4, 5, 4), (seed + 1, 3, 8, 6), (seed + 2, 5, 23, 8)]


def _uninterrupted(seed: int, accumulate: int, micros: int, until: int) -> list[Row]:
    return updates_of(Accumulation(seed, accumulate), until)[micros // accumulate :]


def _with(seed: int, accumulate: int, micros: int, until: int, **changes: Any) -> list[Row]:
    run = Accumulation(seed, accumulate)
    for _ in range(micros):
        run.micro()
    for name, change in changes.items():
        setattr(run, name, change(run))
    return updates_of(run, until)


_LOST = {"gw": lambda run: 0.0, "gb": lambda run: 0.0, "samples": lambda run: 0, "done": lambda run: 0}
_MISTAKES: dict[str, dict[str, Any]] = {
    "the gradients of the micro-batches done are gone, and the cursor says they are used.": _LOST,
    "the gradients are back, but not how many samples they are of: the update divides by too few.": {
        "samples": lambda run: 0
    },
    "the gradients are back, but not the count: the update comes too late.": {"done": lambda run: 0},
    "the gradients are gone, but not the number of samples: the update divides by too many.": {
        "gw": lambda run: 0.0,
        "gb": lambda run: 0.0,
    },
    "rolled back, with the gradients kept: the micro-batches done are added twice.": {
        "cursor": lambda run: run.cursor - run.done,
        "samples": lambda run: 0,
        "done": lambda run: 0,
    },
    "the momentum didn't come back.": {"vw": lambda run: 0.0, "vb": lambda run: 0.0},
    "the cursor didn't come back: the run reads from the start.": {"cursor": lambda run: 0},
}


def _made(changes: dict[str, Any]) -> Any:
    return lambda seed, accumulate, micros, until: _with(seed, accumulate, micros, until, **changes)


def _rows(found: Any, seed: int, accumulate: int, micros: int, until: int) -> Fault | None:
    if found:
        return None
    return Fault(
        "nothing was put into the new run: it does no update, or starts anew",
        "a run that goes on where the other one was saved",
        next_step="set the attributes of the run that resume is given: run.w = ...",
    )


def _counted(found: Any, seed: int, accumulate: int, micros: int, until: int) -> Fault | None:
    wanted = [row[0] for row in _uninterrupted(seed, accumulate, micros, until)]
    steps = [row[0] for row in found]
    if steps == wanted:
        return None
    return Fault(
        f"updates {steps}",
        f"updates {wanted}",
        "the count of updates didn't come back." if steps and steps[0] == 1 else "",
        "step counts updates, cursor counts micro-batches.",
    )


def _same_updates(found: Any, seed: int, accumulate: int, micros: int, until: int) -> Fault | None:
    names = ("step", "w", "b", "vw", "vb", "cursor")
    for mine, right in zip(found, _uninterrupted(seed, accumulate, micros, until), strict=True):
        for name in ("w", "b", "vw", "vb", "cursor"):
            a, b = mine[names.index(name)], right[names.index(name)]
            if a != b:
                return Fault(
                    f"after update {right[0]:g}: {name} {a!r}",
                    f"{b!r}, as in the run that nobody stopped, to the last bit",
                    next_step="which micro-batches are in the gradient of the first update after the resume, and by "
                    "how many samples is it divided?",
                )
    return None


MID_STEP_RULES = [
    Rule("the snapshot reaches the new run", _rows),
    Rule("the same updates are done", _counted),
    Rule(
        "every update is that of the uninterrupted run",
        _same_updates,
        {phrase: _made(changes) for phrase, changes in _MISTAKES.items()},
    ),
]
