"""Lab 02's parts: recorded runs that tell one part from another, plants that exist, a prediction laid under a pass."""

from __future__ import annotations

import json
import random
import re
from pathlib import Path

import answerbook
import pytest

from labkit.checks import card, exercises
from labkit.checks import lab02_figures as own
from labkit.checks.lab02_builds import pass_inputs
from labkit.checks.lab02_measuring_a_dataloader import _CLUES
from labkit.checks.lab02_recorded import CONTROLS
from labkit.checks.lab02_replay import exact_pairs
from labkit.checks.lab02_shown import control_rows
from labkit.errors import UsageError
from labkit.pipeline import CAUSES, simulate
from labkit.pipeline.measured_draws import PLANTS, planted_of
from labkit.pipeline.planted import KINDS


@pytest.mark.parametrize("run", range(len(CONTROLS)))
@pytest.mark.parametrize("batches", [17, 21, 26])
def test_in_each_recorded_run_one_part_stands_out(run, batches):
    parts = own.control_parts(control_rows({"run": run, "batches": batches}))
    second, first = sorted(parts.values())[-2:]
    assert first > 1.3 * second


def test_every_plant_can_be_made_and_named():
    assert set(PLANTS) <= set(KINDS) & set(CAUSES)
    assert {cause for job in range(60) for cause in planted_of(job).values()} == set(PLANTS)


def test_a_replay_is_the_ideal_line_after_a_start():
    prepare, train = [6.0, 14.0, 3.0, 20.0], [10.0, 4.0, 9.0, 5.0]
    line = simulate([prepare[0] + 7, *prepare[1:]], train)
    assert [wait for wait, _ in exact_pairs(prepare, train, 7.0)] == pytest.approx(line.waits)


def cells() -> dict[str, str]:
    notebook = Path(__file__).parents[2] / "notebooks" / "02_measuring_a_dataloader.ipynb"
    return {cell["id"]: "".join(cell["source"]) for cell in json.loads(notebook.read_text("utf-8"))["cells"]}


def test_progress_lists_the_exercises_as_the_notebook_does():
    order = re.findall(r"^`(measure\.\w+)` ·", "\n".join(cells().values()), re.MULTILINE)
    assert [e.id for e in exercises() if e.lab == "02"] == order


def test_the_cause_table_holds_every_plant_and_no_clue_repeats_it():
    table = cells()["causes-text"]
    rows = dict(re.findall(r"^\| ([\w -]+) \| (.+) \|$", table, re.MULTILINE))
    del rows["cause"]
    assert set(rows) == set(PLANTS)
    assert list(rows)[-1] == "healthy"  # whose queue may look the same where another row fits
    assert not {cause for cause, clue in _CLUES.items() if clue in rows[cause]}
    for cause in ("healthy", "too few workers"):
        assert _CLUES[cause].startswith("what the queue holds, and ")


@pytest.mark.parametrize("seed", range(6))
def test_passes_that_a_card_prints_are_short_and_exact(seed):
    shown = pass_inputs(random.Random(seed))[:-3]  # the last ones are recorded, and fail after the others
    assert max(len(done) for passes in shown for done in passes[:3]) <= 8
    for *passes, warmup in shown:
        assert all(len(done) >= warmup + 2 for done in passes)
        assert all(float(f"{time:g}") == pytest.approx(time, abs=1e-9) for done in passes for time in done)


def test_a_card_on_debt_can_be_run_again():
    wrong = next(
        a for a in answerbook.answers("02") if a.exercise == "measure.debt" and "one batch too many" in (a.card or "")
    )
    text = card.text(answerbook.judge("02", wrong))
    assert "when batch warmup - 1 is done, not a batch later" in " ".join(text.split())
    assert "..." not in text


@pytest.mark.parametrize("seed", range(12))
def test_five_percent_needs_all_workers_and_more_than_the_default_ahead(seed):
    figures = own.FIX.pick(seed)
    assert own.fitting(figures)
    assert own.predicted_share(figures["job"], figures["cores"], 2) > own.SHARE
    assert all(workers == figures["cores"] for workers, _ in own.fitting(figures))


@pytest.mark.slow
def test_a_pass_is_laid_over_its_prediction():
    from labkit.pipeline import probe
    from labkit.pipeline.measured_jobs import Asleep, Nap, loader_of
    from labkit.pipeline.measured_overlay import overlay
    from labkit.pipeline.measured_sliders import LoaderSliders

    measured = probe(loader_of(Asleep([12.0] * 8), num_workers=2), Nap(8), warmup=0)
    picture = overlay(measured, simulate([12.0] * 8, [8.0] * 8, workers=2, prefetch_factor=2), start=5.0)
    assert "2 workers, prefetch_factor 2, 8 batches: predicted 81 ms" in picture.alt  # 5 + 12 + 8 x 8
    assert next(iter(picture.table["wait, predicted"])) == 17.0
    with pytest.raises(UsageError, match="7 batches, the measurement 8"):
        overlay(measured, simulate(12, 8, batches=7))

    sliders = LoaderSliders(lambda **settings: loader_of(Asleep([12.0] * 8), **settings), Nap(8))
    sliders.workers.value = 3
    assert sliders.runs == 2
    assert len(set(sliders.measured.pids)) == 3
    assert "3 workers" in repr(sliders)


@pytest.mark.slow
def test_a_loader_holds_its_credits_and_the_batch_in_hand():
    from labkit.pipeline.measured_cases import shared_mib

    assert shared_mib(8, 64, 2, 3) == pytest.approx((2 * 3 + 1) * 8 * 3 * 64 * 64 * 4 / own.MIB)
