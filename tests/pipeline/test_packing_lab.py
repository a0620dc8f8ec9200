"""What lab 03 runs besides packs: padded batches, mixtures, tokenising, sliders."""

from __future__ import annotations

import os
import tempfile

import pytest
from hypothesis import given
from hypothesis import strategies as st

from labkit.errors import UsageError
from labkit.pipeline.bucketing import bucketed, lognormal_lengths, trade
from labkit.pipeline.tokenising import Costs, ids_of, measured_sizes


@given(st.integers(1, 99), st.integers(1, 99), st.integers(0, 400), st.integers(0, 150))
def test_break_even_is_the_first_epoch_that_pays(text, tokenise, write, ids):
    costs = Costs(text, tokenise, write, ids)
    least = costs.break_even()
    paid = [epoch for epoch in range(1, 700) if costs.before(epoch) < costs.on_the_fly(epoch)]
    assert least == (paid[0] if paid else None)


def test_ids_are_work_and_stable():
    assert ids_of("One, two. one") == ids_of("One, two. one")
    assert len(ids_of("One, two. one")) == 5
    found = measured_sizes(5, 30)
    assert found["bytes of ids, 2 each"] * 4 == found["bytes of ids, 8 each"]
    with pytest.raises(UsageError, match="texts is 0"):
        measured_sizes(0, 3)


def test_scratch_goes_where_one_may_write(monkeypatch):
    from labkit.pipeline.packing import fresh, scratch

    with scratch() as folder:
        assert folder.startswith("/var/tmp/" if os.access("/var/tmp", os.W_OK) else tempfile.gettempdir())
    monkeypatch.setattr(os, "access", lambda *_: False)
    elsewhere = scratch()
    assert elsewhere.name.startswith(tempfile.gettempdir())
    assert fresh(elsewhere) == fresh(elsewhere)
    fresh(elsewhere).mkdir()
    assert fresh(elsewhere).name == "1"


def test_scratch_removes_what_a_killed_process_left(monkeypatch, tmp_path):
    from labkit.pipeline.packing import scratch

    monkeypatch.setattr(os, "access", lambda *_: False)
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    gone, mine, young, other = (tmp_path / f"labkit-packs-{name}" for name in ("99999999-a", f"{os.getpid()}-b",
                                                                                "99999999-c", "notes"))  # fmt: skip
    for path in (gone, mine, young, other):
        path.mkdir()
        (path / "x").write_bytes(b"x")
        if path is not young:
            os.utime(path, (1, 1))
    with scratch():
        assert [path.exists() for path in (gone, mine, young, other)] == [False, True, True, True]


@pytest.mark.slow
def test_padded_batches_of_a_real_loader_are_those_that_were_planned():
    from labkit.pipeline.bucketing_drawing import draw_run
    from labkit.pipeline.bucketing_run import run_padded

    held = lognormal_lengths(60, seed=1, median=20)
    batches = bucketed(held, 8, pool=3, seed=1)
    run = run_padded(held, batches)
    assert run.figures == trade(held, batches)
    assert run.shapes == tuple((len(batch), max(held[one] for one in batch)) for batch in batches)
    assert run.tokens == sum(held)
    assert run.positions == sum(n * longest for n, longest in run.shapes)
    assert "padding" in draw_run(run, "Three").alt


@pytest.mark.slow
def test_a_mixture_says_where_the_bytes_went():
    from labkit.pipeline.mixture import draw_mixture, run_mixture

    jpeg, decoded = run_mixture(0.5, samples=32), run_mixture(0.5, samples=32, decoded=True)
    texts = run_mixture(0, samples=32)
    assert texts.image_ms == 0 < texts.text_ms
    assert decoded.stored > 3 * jpeg.stored
    assert len(jpeg.batch_ms) == 2
    assert "decoded before" in draw_mixture([jpeg, decoded]).alt


def test_sliders_run_the_experiment_at_each_move():
    from labkit.pipeline.sliders import Sliders
    from labkit.sketching import nothing

    seen = []

    def run(buffer, workers):
        seen.append((buffer, workers))
        return nothing(f"buffer {buffer}, workers {workers}")

    sliders = Sliders(run, buffer=[1, 20], workers=[0, 2])
    sliders.sliders["buffer"].value = 20
    sliders.sliders["workers"].value = 2
    assert seen == [(1, 0), (20, 0), (20, 2)]
    assert sliders.runs == 3
    assert repr(sliders) == "buffer 20, workers 2"
    assert sliders._repr_mimebundle_()["text/plain"] == "buffer 20, workers 2"
