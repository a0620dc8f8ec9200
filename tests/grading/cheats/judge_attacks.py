"""Attacks on the judge: its checks, its names, its way of comparing."""

from __future__ import annotations

from cheats.attack import WRONG, Attack

EQUAL = """
class Equal(int):
    def __eq__(self, other): return True
    def __ne__(self, other): return False
    def __lt__(self, other): return False
    def __gt__(self, other): return False
    def __sub__(self, other): return 0
    def __rsub__(self, other): return 0
    __hash__ = int.__hash__
    def __repr__(self): return "46"
"""


def injection(name: str, code: str, **more) -> Attack:
    return Attack(name, "injection", code, **more)


def redirection(name: str, code: str, **more) -> Attack:
    return Attack(name, "redirection", code, **more)


ATTACKS = [
    injection(
        "replaces check, evaluate and the result class",
        "import labkit, labkit.checks as c\nimport labkit.checks.engine as e\n"
        "c.check = labkit.check = check = lambda *a, **k: print('passed')\n"
        "e.evaluate = c.evaluate = lambda *a, **k: True\n" + WRONG,
    ),
    injection(
        "no AssertionError any more",
        "import builtins\nbuiltins.AssertionError = type('Never', (Exception,), {})\n" + WRONG,
    ),
    injection(
        "patches IPython's showtraceback and set_custom_exc",
        "try:\n    from IPython.core.interactiveshell import InteractiveShell as S\n"
        "    S.showtraceback = lambda *a, **k: None\n    S.set_custom_exc = lambda *a, **k: None\n"
        "except ImportError:\n    pass\n" + WRONG,
    ),
    injection(
        "empties the registry of checks",
        "from labkit.checks import registry\nregistry._exercises.clear()\n"
        "registry.find = registry.exercises = lambda *a: []\n" + WRONG,
    ),
    injection(
        "patches unittest and numpy.testing",
        "import unittest, numpy.testing as t\nunittest.TestCase.assertEqual = lambda *a: None\n"
        "t.assert_allclose = t.assert_array_equal = lambda *a, **k: None\n" + WRONG,
    ),
    injection(
        "the handle in its own process gives an object that equals everything",
        EQUAL + "from labkit.checks.answer import LocalAnswer\n"
        "LocalAnswer.value = lambda self: {'serial': Equal(), 'overlapped': Equal()}\n" + WRONG,
    ),
    injection(
        "plain() lets everything pass",
        EQUAL + "import labkit.checks.answer as a, labkit.checks.plain as p\na.plain = p.plain = lambda value: value\n"
        "serial = overlapped = Equal(1)\n",
    ),
    injection(
        "patched json writes what it likes",
        "import json\nreal = json.dumps\njson.dumps = lambda value, **k: real(value, **k).replace('1', 'true')\n"
        + WRONG,
    ),
    injection(
        "says over the pipe that all is well",
        "import labkit.grading.confine.child as c\nc._reply = lambda *a: ['passed', True]\n" + WRONG,
        said="grader's own pipe",
    ),
    injection("answers with the verdict", "serial = overlapped = 'passed'\n"),
    injection(
        "pretends that it was never asked",
        "from labkit.checks.plain import Unanswered\n"
        "def train_times(prepare, train, depth):\n    raise Unanswered('the grader')\n",
        exercise="pipeline.recurrence",
    ),
    injection(
        "a check cell of its own", WRONG + "check('pipeline.makespan', {'serial': 1})\ncheck = lambda *a: True\n"
    ),
    injection("an unknown magic that hides an error", "%no_such_magic\n" + WRONG, said="IPython"),
    injection("a cell magic that swallows errors", "%%capture --no-stderr\n" + WRONG, said="IPython"),
    injection(
        "an input transformer that drops asserts",
        "get_ipython().input_transformers_cleanup.append(lambda lines: [])\n" + WRONG,
        said="get_ipython",
    ),
    injection(
        "an AST transformer that drops the check",
        "get_ipython().ast_transformers.append(None)\n" + WRONG,
        said="get_ipython",
    ),
    injection("# NBVAL_SKIP", "# NBVAL_SKIP\n" + WRONG),
    injection("forged output in its own words", "print('pipeline.makespan: passed, 2 of 2 points')\n" + WRONG),
    redirection("an int that equals everything", EQUAL + "serial = overlapped = Equal(1)\n"),
    redirection(
        "an object that equals everything",
        EQUAL.replace("(int)", "").replace("    __hash__ = int.__hash__\n", "") + "serial = overlapped = Equal()\n",
    ),
    redirection(
        "a dict that lies about what it holds",
        EQUAL
        + """
class Lies(dict):
    def __getitem__(self, key): return Equal(1)
    def items(self): return [('serial', Equal(1)), ('overlapped', Equal(1))]
    def get(self, *a): return Equal(1)
serial = overlapped = Lies(serial=1)
""",
    ),
    redirection("a float that is no number", "serial = overlapped = float('nan')\n"),
    redirection("infinity", "serial = overlapped = float('inf')\n"),
    redirection("an int of 10,000 digits", "serial = overlapped = 10**10_000\n"),
    redirection(
        "a tensor subclass",
        """
import torch
class T(torch.Tensor):
    def tolist(self): return 46
    def __eq__(self, other): return torch.tensor(True)
serial = overlapped = torch.ones(1).as_subclass(T)
""",
    ),
    redirection(
        "an array of objects that equal everything",
        EQUAL
        + """
import numpy as np
serial = overlapped = np.array([Equal(1)], dtype=object)
""",
    ),
    redirection(
        "an object that says it is an int",
        """
class Liar:
    __class__ = property(lambda self: int)
    def __eq__(self, other): return True
serial = overlapped = Liar()
""",
    ),
    redirection("a generator that answers differently each time", "serial = overlapped = (n for n in range(10**9))\n"),
    redirection(
        "a function that answers differently each time",
        "import itertools\ncount = itertools.count()\ndef train_times(prepare, train, depth):\n"
        "    n = next(count)\n    return [(n, n + 1)] * len(prepare)\n",
        exercise="pipeline.recurrence",
    ),
    redirection(
        "a thread that changes the answer while it is read",
        "import threading\nrows = [(0, 1)]\ndef churn():\n    while True:\n        rows.append((0, 1)); del rows[:-4]\n"
        "threading.Thread(target=churn, daemon=True).start()\ndef train_times(prepare, train, depth):\n    return rows\n",
        exercise="pipeline.recurrence",
    ),
    redirection(
        "changes its arguments",
        "def train_times(prepare, train, depth):\n    prepare[:] = train[:] = []\n    return []\n",
        exercise="pipeline.recurrence",
    ),
    redirection(
        "a poisoned pickle",
        """
import os
class Poison:
    def __reduce__(self): return (os.system, ('touch @CANARY@/poisoned',))
serial = overlapped = Poison()
""",
    ),
    redirection(
        "a pickle as text and as bytes",
        """
import pickle
serial = overlapped = pickle.dumps(print)
""",
    ),
    redirection(
        "an answer that is a path", "import pathlib\nserial = overlapped = pathlib.Path('@CANARY@/gradebook.json')\n"
    ),
    redirection(
        "a file with code, saved by torch",
        """
import torch, os
class Poison:
    def __reduce__(self): return (os.system, ('touch @CANARY@/poisoned',))
torch.save(Poison(), '/tmp/answer.pt') if os.path.isdir('/tmp') and os.access('/tmp', os.W_OK) else None
serial = overlapped = '/tmp/answer.pt'
""",
    ),
    Attack("the worked example's numbers", "overfitting", "serial, overlapped = 64, 46\n"),
    Attack(
        "the worked example by heart",
        "overfitting",
        "def train_times(prepare, train, depth):\n    return [(6, 16), (16, 26), (26, 36), (36, 46)][:len(prepare)]\n",
        exercise="pipeline.recurrence",
    ),
    Attack(
        "every error swallowed",
        "evasion",
        "import sys\nsys.excepthook = lambda *a: None\ntry:\n    1 / 0\nfinally:\n    pass\n" + WRONG,
        said="ZeroDivisionError",
    ),
    Attack(
        "an exception whose own text raises",
        "evasion",
        "class E(Exception):\n    def __str__(self): raise self\ndef train_times(prepare, train, depth): raise E\n",
        exercise="pipeline.recurrence",
        said="ended by itself",
    ),
    Attack(
        "StopIteration into the judge's generator",
        "evasion",
        "def train_times(prepare, train, depth): raise StopIteration\n",
        exercise="pipeline.recurrence",
    ),
    Attack(
        "KeyboardInterrupt at the judge",
        "evasion",
        "def train_times(prepare, train, depth): raise KeyboardInterrupt\n",
        exercise="pipeline.recurrence",
    ),
    Attack(
        "GeneratorExit at the judge",
        "evasion",
        "def train_times(prepare, train, depth): raise GeneratorExit\n",
        exercise="pipeline.recurrence",
    ),
    Attack(
        "RecursionError", "evasion", "def train_times(*a): return train_times(*a)\n", exercise="pipeline.recurrence"
    ),
    Attack(
        "sys.settrace over the child's own code",
        "injection",
        """
import sys
def trace(frame, event, arg):
    if frame.f_code.co_name == '_reply':
        frame.f_locals['value'] = {'serial': True, 'overlapped': True}
    return trace
sys.settrace(trace)
"""
        + WRONG,
    ),
    Attack("nested 100,000 deep", "redirection", "x = []\nfor _ in range(100_000): x = [x]\nserial = overlapped = x\n"),
    Attack("a list that holds itself", "redirection", "x = []\nx.append(x)\nserial = overlapped = x\n"),
    Attack("200 MB of text", "redirection", "serial = overlapped = 'x' * 200_000_000\n"),
    Attack("ten million numbers", "redirection", "serial = overlapped = list(range(10_000_000))\n"),
]
