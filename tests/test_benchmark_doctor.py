"""The arithmetic behind the stall doctor's published figures; nothing is measured here."""

from __future__ import annotations

import json
import os
import signal
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks import doctor, doctor_tables
from benchmarks.doctor_runs import Keep, alone, stamp

KINDS = ("too few workers", "slow collate", "healthy", "mixed")
CAUSES = ("healthy", "not enough evidence", "too few workers", "slow collate", "decode-bound")


def run(what, said, seed=0, truth=None, **more):
    return {"what": what, "truth": truth or what, "said": said, "seed": seed, "seconds": 2.0, "share": 0.1, **more}


@pytest.mark.parametrize(
    ("hits", "runs", "low", "high"),
    # Newcombe, Two-sided confidence intervals for the single proportion, Statistics in Medicine 17 (1998), table I,
    # method 3 (score without continuity correction).
    [(81, 263, 0.2553, 0.3662), (15, 148, 0.0624, 0.1605), (0, 20, 0.0, 0.1611), (1, 29, 0.0061, 0.1718)],
)
def test_wilson_against_published_intervals(hits, runs, low, high):
    assert doctor_tables.wilson(hits, runs) == pytest.approx((low, high), abs=5e-5)


@given(st.integers(1, 500).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n))))
def test_wilson_solves_the_score_equation(pair):
    hits, runs = pair
    share = hits / runs
    for end in doctor_tables.wilson(hits, runs):
        assert 0 <= end <= 1
        if 1e-9 < end < 1 - 1e-9:  # |share - p| = z sqrt(p (1 - p) / n) at both ends
            assert abs(share - end) == pytest.approx(1.959964 * (end * (1 - end) / runs) ** 0.5, abs=1e-9)


def test_no_runs_say_nothing():
    assert doctor_tables.wilson(0, 0) == (0.0, 1.0)


@pytest.mark.parametrize(
    ("said", "what"),
    [
        ("slow collate", "right"),
        ("not enough evidence", "abstained"),
        ("healthy", "wrong"),
        ("decode-bound", "wrong"),
        ("failed", "abstained"),
    ],
)
def test_an_abstention_is_not_a_wrong_cause(said, what):
    assert doctor_tables.verdict(run("slow collate", said)) == what


def test_a_mixed_job_is_right_with_the_cause_that_costs_most():
    assert doctor_tables.verdict(run("mixed", "slow collate", truth="slow collate")) == "right"
    assert doctor_tables.verdict(run("mixed", "healthy", truth="slow collate")) == "wrong"


def test_matrix_counts_every_run_once_in_its_line():
    rows = [
        run("too few workers", "too few workers"),
        run("too few workers", "decode-bound", 1),
        run("slow collate", "not enough evidence"),
        run("healthy", "healthy"),
    ]
    lines = doctor_tables.matrix(rows, KINDS, CAUSES).splitlines()
    cells = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]
    assert cells[0] == ["planted", "1", "2", "3", "U", "5"]
    assert cells[2] == ["1 too few workers", "1", "·", "·", "·", "1"]
    assert cells[3] == ["2 slow collate", "·", "·", "·", "1", "·"]
    assert cells[4] == ["3 healthy", "·", "·", "1", "·", "·"]
    assert sum(int(cell) for line in cells[2:] for cell in line[1:] if cell.isdigit()) == len(rows)


def test_named_gives_shares_of_each_line_and_leaves_mixed_out_of_the_sum():
    rows = [run("slow collate", "slow collate", i) for i in range(9)] + [run("slow collate", "healthy", 9)]
    rows += [run("mixed", "healthy", truth="slow collate")]
    text = doctor_tables.named(rows, KINDS)
    assert text.count("9/10, 60% to 98%") == 2  # the line and the sum
    assert "0/1, 0% to 79%" in text


def test_peers_see_the_share_alone():
    rows = [run("slow collate", "slow collate", i, share=s) for i, s in enumerate((0.04, 0.1, 0.3))]
    line = doctor_tables.peers(rows, KINDS).splitlines()[3]
    assert [cell.strip() for cell in line.strip("|").split("|")] == ["slow collate", "10%", "2/3", "1/3", "2/3, wrong"]


def applied(predicted, achieved):
    return {"predicted_gain": predicted, "gain": achieved}


def test_errors_are_relative_to_what_was_achieved():
    assert doctor_tables.errors([(2.2, 2.0), (1.8, 2.0)]) == pytest.approx([0.1, 0.1])
    rows = [
        run("slow collate", "slow collate", i, applied=applied(*pair))
        for i, pair in enumerate([(1.0, 1.0), (3.0, 2.0), (1.1, 1.0)])
    ]
    line = doctor_tables.gains(rows, KINDS).splitlines()[2]
    assert "10.0%" in line  # the median of 0, 50 and 10 %
    assert "50.0% (3.00 for 2.00)" in line
    rows.append(run("mixed", "slow collate", 9, truth="slow collate", applied=applied(9.0, 1.0)))
    assert max(doctor_tables.gain_errors(rows)) == pytest.approx(0.5)  # mixed jobs have a line of their own


def setting(achieved, predicted, **more):
    where = {"work": "sleep", "workers": 1, "factor": 2, "spread": 0.0, "ratio": 0.8}
    return {"what": "makespan", "seed": 0, "achieved": achieved, "predicted": predicted, "no fetch": 80.0} | {
        "from another run": 90.0,
        **where,
        **more,
    }


def test_makespans_need_forty_settings():
    few = [setting(100.0, 101.0)] * 39
    (bar,) = doctor_tables.bars(few, KINDS)
    assert bar[2] is False
    (bar,) = doctor_tables.bars([*few, setting(100.0, 99.0)], KINDS)
    assert bar == ("makespan predicted within 3 %, median, 40 settings", "1.0%, worst 1.0%, 40 settings", True)
    (bar,) = doctor_tables.bars([setting(100.0, 104.0)] * 40, KINDS)
    assert bar[2] is False
    assert "20.0%" in doctor_tables.makespans(few)


def test_bars_hold_the_least_cause_to_nine_in_ten():
    rows = [run("slow collate", "slow collate", i) for i in range(10)]
    rows += [run("too few workers", "too few workers" if i < 8 else "not enough evidence", i) for i in range(10)]
    rows += [run("healthy", "healthy", i) for i in range(10)]
    by = {name: (text, met) for name, text, met in doctor_tables.bars(rows, KINDS)}
    assert by["each cause named right in 90 %"] == ("least 80% (too few workers)", False)
    assert by["another cause named in 3 % at most"] == ("0.0% of 30 runs", True)
    assert by["healthy jobs called healthy, all"] == ("10 of 10", True)
    rows[-1] = run("healthy", "slow collate", 9)
    by = {name: met for name, _, met in doctor_tables.bars(rows, KINDS)}
    assert not by["healthy jobs called healthy, all"]
    assert not by["another cause named in 3 % at most"]


def test_the_report_goes_between_its_markers():
    text = doctor_tables.report([run("healthy", "healthy"), setting(100.0, 101.0)], ("healthy",), CAUSES, "Told.")
    page = f"# A\n\nbefore\n\n{doctor_tables.BEGIN}\nstale words\n{doctor_tables.END}\n\nafter\n"
    made = doctor_tables.laid_in(page, text)
    assert made.startswith("# A\n\nbefore\n")
    assert made.endswith("\n\nafter\n")
    assert "stale words" not in made
    assert "Told." in made
    assert doctor_tables.laid_in(made, text) == made
    with pytest.raises(ValueError, match="no <!-- measured"):
        doctor_tables.laid_in("# A\n", text)


def test_the_page_has_its_markers():
    page = doctor.PAGE.read_text(encoding="utf-8")
    assert doctor_tables.laid_in(page, "x") != page


def test_kept_rows_of_other_code_are_ignored(tmp_path):
    path = tmp_path / "rows.jsonl"
    keep = Keep(path, lambda what: "now")
    keep.add({"what": "healthy", "seed": 3})
    with path.open("a") as file:
        file.write(json.dumps({"stamp": "earlier", "what": "healthy", "seed": 4}) + "\n")
    again = Keep(path, lambda what: "now")
    assert again.has("healthy", 3)
    assert not again.has("healthy", 4)
    assert not again.has("slow collate", 3)
    assert len(path.read_text().splitlines()) == 2


def test_the_stamp_is_of_the_code(monkeypatch, tmp_path):
    assert stamp() == stamp()
    (tmp_path / "planted.py").write_text("1")
    monkeypatch.setattr("benchmarks.doctor_runs.PIPELINE", tmp_path)
    before = stamp()
    (tmp_path / "drawing.py").write_text("1")
    assert stamp() == before  # nothing that is measured
    (tmp_path / "planted.py").write_text("2")
    assert stamp() != before


def test_another_kinds_plant_makes_no_row_stale(monkeypatch, tmp_path):
    monkeypatch.setattr("benchmarks.doctor_runs.PIPELINE", tmp_path)
    (tmp_path / "planted_supply.py").write_text("from labkit.pipeline.planted_parts import cores")
    for name in ("parts", "healthy"):
        (tmp_path / f"planted_{name}.py").write_text("1")
    kinds = ("decode-bound", "healthy")
    before = {kind: stamp(kind) for kind in kinds}
    (tmp_path / "planted_healthy.py").write_text("2")
    assert [stamp(kind) == before[kind] for kind in kinds] == [True, False]
    (tmp_path / "planted_parts.py").write_text("2")
    assert stamp("decode-bound") != before["decode-bound"], "it stands on that"


def test_a_run_that_fails_dies_or_hangs_gives_a_row():
    def kill():
        os.kill(os.getpid(), signal.SIGKILL)

    def fail():
        raise OSError("no disk")

    assert alone(lambda: {"said": "healthy"}) == {"said": "healthy"}
    assert alone(fail) == {"failed": "OSError: no disk"}
    assert alone(kill) == {"failed": "the process died"}
    assert alone(time.sleep, 60, limit_s=0.1)["failed"].startswith("no answer")


def test_todo_takes_kinds_in_turns():
    assert doctor.todo(["a", "b"], 2, 5) == [("a", 5), ("b", 5), ("a", 6), ("b", 6)]
    assert len([pair for pair in doctor.todo(["a", "makespan"], 1, 0) if pair[0] == "makespan"]) >= 40


def test_a_run_counts_only_between_two_idle_moments(monkeypatch):
    moments = iter([0.0, 1.5, 0.0, 0.0])  # idle, busy afterwards; idle both times
    monkeypatch.setattr(doctor, "others", lambda: next(moments))
    monkeypatch.setattr(doctor, "one", lambda what, seed, gain: {"what": what, "seed": seed})
    assert doctor.undisturbed("healthy", 3, gain=False) == {"what": "healthy", "seed": 3, "again": 1}
    monkeypatch.setattr(doctor, "others", lambda: 1.5)
    monkeypatch.setattr(doctor.time, "sleep", lambda seconds: None)
    assert doctor.undisturbed("healthy", 3, gain=False) is None
