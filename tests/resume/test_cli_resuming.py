"""train, reconcile, store verify and interval, as typed."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

from labkit import cli
from labkit.resume import Store


@pytest.fixture
def run(capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)

    def call(*words):
        code = cli.main([str(word) for word in words])
        out = capsys.readouterr()
        return code, out.out, out.err

    return call


def test_the_lesson_as_it_is_told(run):
    """Straight on; 19 and then on to 80; a fault."""
    assert run("train", "--steps", 80, "--output", "straight.json")[0] == 0
    code, out, _ = run("train", "--steps", 19, "--checkpoint", "at19.json", "--output", "first.json")
    assert (code, out.splitlines()[0]) == (0, "step 19 (from the start, 19 updates done here)")
    code, out, _ = run("train", "--steps", 80, "--resume", "at19.json", "--output", "resumed.json")
    assert out == (
        "step 80 (resumed from step 19, 61 updates done here)\n"
        "w 3.0000640810916352  b 1.9999645194506697  MSE 6.71266e-09\n"
    )
    assert run("reconcile", "straight.json", "resumed.json") == (0, "same state\n", "")
    printed = {
        "drop-optimizer": "w 3.000322452945639  b 1.9998806178623019  MSE 1.52345e-07",
        "reset-cursor": "w 3.000101536293261  b 1.9999248815747102  MSE 1.93352e-08",
        "reset-rng": "w 3.0000768451498874  b 1.9999111763423674  MSE 1.57325e-08",
    }
    first = {"drop-optimizer": "parameters", "reset-cursor": "sampleIds", "reset-rng": "rngState"}
    for fault, component in first.items():
        code, out, _ = run("train", "--steps", 80, "--resume", "at19.json", "--fault", fault, "--output", "wrong.json")
        assert (code, out.splitlines()[1]) == (0, printed[fault])
        code, out, _ = run("reconcile", "straight.json", "wrong.json")
        assert (code, out.splitlines()[0]) == (1, f"first difference: {component} after step 20")
        code, out, _ = run("reconcile", "straight.json", "wrong.json", "--json")
        assert (code, json.loads(out)["component"]) == (1, component)
    assert run("reconcile", "straight.json", "wrong.json", "--png", "two.png")[0] == 1
    assert run("reconcile", "at19.json", "first.json")[0] == 0
    assert run("reconcile", "at19.json", "at19.json", "--json")[1] == "null\n"


def test_train_as_json(run):
    found = json.loads(run("train", "--steps", 2, "--seed", 3, "--json")[1])
    assert found["seed"] == 3
    assert len(found["records"]) == 2


def test_errors_are_one_line(run, tmp_path):
    run("train", "--steps", 19, "--checkpoint", "c.json")
    (tmp_path / "link.json").symlink_to("c.json")
    (tmp_path / "cut.json").write_text((tmp_path / "c.json").read_text()[:400])
    (tmp_path / "file").write_text("x")
    for words, says in [
        (("train", "--steps", 10, "--resume", "c.json"), "steps is 10, the checkpoint stands at 19"),
        (("train", "--steps", 0), "steps is 0"),
        (("train", "--steps", "many"), "'many' is not a whole number"),
        (("train", "--steps", 80, "--resume", "none.json"), "none.json can't be read: no such file"),
        (("train", "--steps", 80, "--resume", "cut.json"), "cut.json isn't a whole JSON file"),
        (("train", "--steps", 80, "--checkpoint", "link.json"), "link.json is a symbolic link"),
        (("train", "--steps", 80, "--checkpoint", "none/c.json"), "there is no directory none"),
        (("train", "--steps", 80, "--fault", "reset-rng"), "without a resume"),
        (("train", "--steps", 80, "--resume", "c.json", "--fault", "x"), "fault is 'x': choose one of"),
        (("reconcile", "c.json", "cut.json"), "cut.json isn't a whole JSON file"),
        (("reconcile", "c.json", "c.json", "--png", "x.gif"), "name a file that ends in .png"),
        (("store", "verify", "none"), "there is nothing at none"),
        (("store", "verify", "file"), "file is a file: a store is a directory"),
        (("interval", "--save-cost", 0, "--mtbf", 5), "save_cost is 0.0"),
        (("interval", "--save-cost", 1), "mtbf"),
    ]:
        code, out, error = run(*words)
        assert (code, out) == (2, ""), words
        assert says in error, words
        assert error.count("\n") == 1
    assert (tmp_path / "link.json").is_symlink()


def test_store_verify(run, tmp_path):
    store = Store(tmp_path / "s")
    for step in (10, 20):
        store.save({"step": step}, step)
    code, out, _ = run("store", "verify", "s")
    assert code == 0
    assert out.splitlines()[0].startswith("save 2, step 20, ")
    path = next((tmp_path / "s" / "data").glob("step-20-*/state.json"))
    path.write_bytes(b"{}")
    code, out, _ = run("store", "verify", "s")
    assert code == 1
    assert "state.json has 2 bytes" in out
    assert "load takes save 1" in out
    code, out, _ = run("store", "verify", "s", "--json")
    assert (code, json.loads(out)["ok"]) == (1, False)


def test_interval(run):
    code, out, _ = run("interval", "--save-cost", 5, "--mtbf", 1440, "--recovery", 10)
    assert code == 0
    found = [line.split()[:2] for line in out.splitlines()]
    assert found == [["Young", "120.00"], ["Daly", "116.69"], ["exact", "116.69"]]
    found = json.loads(run("interval", "--save-cost", 5, "--mtbf", 15, "--json")[1])
    assert round(found["exact"]["interval"], 2) == 9.17
    assert run("interval", "--save-cost", 5, "--mtbf", 15, "--png", "i.png")[0] == 0


def test_training_the_line_imports_no_torch(tmp_path):
    code = (
        "import sys\nfrom labkit.cli import main\nmain(['train', '--steps', '3', '--checkpoint', 'c.json'])\n"
        "sys.exit(any(m in sys.modules for m in ('torch', 'numpy', 'pandas', 'matplotlib')))"
    )
    subprocess.run([sys.executable, "-c", code], check=True, cwd=tmp_path, capture_output=True)
