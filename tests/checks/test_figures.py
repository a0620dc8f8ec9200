"""Own figures: stable, different between learners, and no usual mistake gives the right value."""

from __future__ import annotations

import pytest

from labkit import variant
from labkit.checks.registry import exercises
from labkit.course.variants import seed
from labkit.errors import UsageError

DRAWN = [e for e in exercises() if e.figures]


SLOW = {"contract.statistical", "resume.first_fault", "resume.low_loss", "pipeline.reality"}  # 6 to 60 ms a draw


@pytest.mark.parametrize("learners", ["few", pytest.param("many", marks=pytest.mark.slow)])
@pytest.mark.parametrize("exercise", DRAWN, ids=lambda e: e.id)
def test_no_mistake_gives_the_right_value(exercise, learners, amount):
    many = amount(60 if exercise.id in SLOW else 400, full=400)
    for learner in range(many if learners == "many" else 10):
        figures = exercise.figures.pick(seed(exercise.id, learner=f"learner {learner}"))
        truth = exercise.figures.truth(figures)
        mistakes = exercise.figures.mistakes(figures)
        assert mistakes
        assert truth not in mistakes.values(), (learner, figures)


@pytest.mark.parametrize("exercise", DRAWN, ids=lambda e: e.id)
def test_learners_get_different_figures(exercise):
    drawn = {str(exercise.figures.pick(seed(exercise.id, learner=f"learner {i}"))) for i in range(20)}
    assert len(drawn) >= 8


def test_figures_do_not_change_between_releases():
    """A learner who comes back after an update must find the same numbers."""
    assert dict(variant("pipeline.makespan")) == {"batches": 4, "prepare": 9, "train": 20}


def test_variant_reads_like_the_lab_says():
    figures = variant("pipeline.waits")
    assert figures.prepare == figures["prepare"]
    assert "ms to train on each" in repr(figures)
    assert "<caption" in figures._repr_html_()
    with pytest.raises(AttributeError, match="no figure 'prepair': there are prepare, train"):
        _ = figures.prepair


def test_no_figures():
    with pytest.raises(UsageError, match=r"'pipeline.depth' has no figures of your own"):
        variant("pipeline.depth")
