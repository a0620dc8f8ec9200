"""Attacks on the experiments: the tools that run a learner's code are not the learner's."""

from __future__ import annotations

from cheats.attack import WRONG, Attack

STRAIGHT = """
def straight(capture, restore):
    from labkit.checks.lab07_runs import row
    from labkit.resume.line import Line
    def run(seed, at, until):
        line = Line(seed)
        for _ in range(at): line.advance()
        return {'saved': '{}', 'later': '{}', 'rows': [row(line.advance()) for _ in range(until - at)]}
    return run
def capture(line): return {}
def restore(line, snapshot): pass
"""
LOCAL = "def mean_over_ranks(values):\n    return sum(values) / len(values) if values else 0.0\n"
POOLED = """
def pooled(metric):
    def on_ranks(shards):
        flat = [x for shard in shards for x in shard]
        return [sum(flat) / len(flat)] * len(shards)
    return on_ranks
"""
CAPTURE = {"exercise": "resume.capture", "lab": "07"}
MEAN = {"exercise": "metrics.sum_count", "lab": "05", "limits": {"seconds": 20}}
TAMPERED = "replaced a tool"


def experiment(name: str, code: str, said: str = "", **more) -> Attack:
    return Attack(name, "redirection", code, said=said, **more)


ATTACKS = [
    experiment("its own experiment under the tool's name", STRAIGHT + "stopped_and_resumed = straight\n", **CAPTURE),
    experiment(
        "its own experiment in the tool's module",
        STRAIGHT + "import labkit.checks.lab07_runs as m\nm.stopped_and_resumed = straight\n",
        TAMPERED,
        **CAPTURE,
    ),
    experiment(
        "its own code in the tool's function",
        STRAIGHT + "stopped_and_resumed.__code__ = straight.__code__\n",
        TAMPERED,
        **CAPTURE,
    ),
    experiment(
        "patched when the experiment calls it",
        STRAIGHT
        + "import labkit.checks.lab07_runs as m\ndef capture(line):\n    m.Line.advance = lambda self: None\n    return {}\n",
        "replaced a tool|AttributeError",
        **CAPTURE,
    ),
    experiment(
        "a module of its own in place of the tool's",
        STRAIGHT
        + "import sys, types\nfake = types.ModuleType('labkit.checks.lab07_runs')\nvars(fake).update(vars(sys.modules['labkit.checks.lab07_runs']))\nfake.stopped_and_resumed = straight\nsys.modules['labkit.checks.lab07_runs'] = fake\n",
        TAMPERED,
        **CAPTURE,
    ),
    experiment(
        "a checkpoint baked beforehand",
        "baked = {'w': 1.0, 'b': 2.0, 'vw': 0.0, 'vb': 0.0, 'step': 10, 'position': 0}\ndef capture(line): return baked\ndef restore(line, snapshot):\n    for name in baked: setattr(line, name, baked[name])\n",
        **CAPTURE,
    ),
    experiment(
        "patched torch.distributed",
        "import torch.distributed as d\nd.all_reduce = lambda *a, **k: None\nd.get_world_size = lambda *a: 1\n" + LOCAL,
        "replaced a tool",
        **MEAN,
    ),
    experiment(
        "patched ranks.run",
        "import labkit.ranks\nlabkit.ranks.run = ranks.run = lambda fn, *a, ranks=4, **k: [0.0] * ranks\n" + LOCAL,
        "replaced a tool",
        **MEAN,
    ),
    experiment("all ranks' values at once, under the tool's name", POOLED + LOCAL + "across_ranks = pooled\n", **MEAN),
    experiment(
        "all ranks' values at once, in the tool's module",
        POOLED + LOCAL + "import labkit.metrics.across as a\na.across_ranks = pooled\n",
        TAMPERED,
        **MEAN,
    ),
    experiment(
        "a hard-coded world size",
        "def mean_over_ranks(values):\n    t = torch.tensor(sum(values), dtype=torch.float64)\n    if dist.is_initialized(): dist.all_reduce(t)\n    return t.item() / (4 * max(len(values), 1))\n",
        **MEAN,
    ),
    experiment(
        "copies dropped instead of told apart",
        "def each_once(rows):\n    return rows[: len(rows) // 2]\n",
        exercise="metrics.padding",
        lab="05",
    ),
    experiment(
        "patched clocks",
        "import time\ntime.perf_counter = time.monotonic = lambda: 0.0\ntime.sleep = lambda s: None\nworkers, prefetch_factor, predicted = 1, 1, 0\n",
        exercise="pipeline.reality",
    ),
    experiment(
        "patched clocks, and a wrong value",
        "import time\ntime.perf_counter = time.time = time.monotonic = lambda: 1e9\n" + WRONG,
    ),
    experiment(
        "labkit's own simulate patched",
        "import labkit.pipeline.line as l, labkit.pipeline as p\np.simulate = simulate = lambda *a, **k: None\n"
        + WRONG,
    ),
]
