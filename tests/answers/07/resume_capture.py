"""resume.capture"""

# %% right: reference
def capture(line):
    numbers = {name: getattr(line, name) for name in ("w", "b", "vw", "vb", "step", "position")}
    return {**numbers, "order": list(line.order), "rng": line.rng.getstate()}


def restore(line, snapshot):
    for name in ("w", "b", "vw", "vb", "step", "position", "order"):
        setattr(line, name, snapshot[name])
    version, numbers, spare = snapshot["rng"]
    line.rng.setstate((version, tuple(numbers), spare))

# %% right: by hand, in one list
def capture(line):
    return [line.w, line.b, line.vw, line.vb, line.step, line.position, copy.deepcopy(line.order), line.rng.getstate()]


def restore(line, snapshot):
    line.w, line.b, line.vw, line.vb, line.step, line.position, line.order, rng = snapshot
    line.rng.setstate((rng[0], tuple(rng[1]), rng[2]))

# %% right: the shuffler's state as text
import base64
import pickle


def capture(line):
    everything = {name: getattr(line, name) for name in ("w", "b", "vw", "vb", "step", "position", "order", "rng")}
    return {"all": base64.b64encode(pickle.dumps(everything)).decode()}


def restore(line, snapshot):
    vars(line).update(pickle.loads(base64.b64decode(snapshot["all"])))

# %% wrong: weights alone -> card: after step 3: step 1
def capture(line):
    return {"w": line.w, "b": line.b}


def restore(line, snapshot):
    line.w, line.b = snapshot["w"], snapshot["b"]

# %% wrong: no momentum -> card: lost its momentum
def capture(line):
    numbers = {name: getattr(line, name) for name in ("w", "b", "step", "position")}
    return {**numbers, "order": list(line.order), "rng": line.rng.getstate()}


def restore(line, snapshot):
    for name in ("w", "b", "step", "position", "order"):
        setattr(line, name, snapshot[name])
    version, numbers, spare = snapshot["rng"]
    line.rng.setstate((version, tuple(numbers), spare))

# %% wrong: no cursor -> card: lost its cursor
def capture(line):
    numbers = {name: getattr(line, name) for name in ("w", "b", "vw", "vb", "step")}
    return {**numbers, "order": list(line.order), "rng": line.rng.getstate()}


def restore(line, snapshot):
    for name in ("w", "b", "vw", "vb", "step", "order"):
        setattr(line, name, snapshot[name])
    version, numbers, spare = snapshot["rng"]
    line.rng.setstate((version, tuple(numbers), spare))

# %% wrong: no order -> card: other samples are read
def capture(line):
    numbers = {name: getattr(line, name) for name in ("w", "b", "vw", "vb", "step", "position")}
    return {**numbers, "rng": line.rng.getstate()}


def restore(line, snapshot):
    for name in ("w", "b", "vw", "vb", "step", "position"):
        setattr(line, name, snapshot[name])
    version, numbers, spare = snapshot["rng"]
    line.rng.setstate((version, tuple(numbers), spare))

# %% wrong: the seed in place of the state -> card: the shuffler is in another state
import random


def capture(line):
    numbers = {name: getattr(line, name) for name in ("w", "b", "vw", "vb", "step", "position")}
    return {**numbers, "order": list(line.order), "seed": 7}


def restore(line, snapshot):
    for name in ("w", "b", "vw", "vb", "step", "position", "order"):
        setattr(line, name, snapshot[name])
    line.rng = random.Random(snapshot["seed"])

# %% wrong: the live list -> card: shows two moments at once
def capture(line):
    numbers = {name: getattr(line, name) for name in ("w", "b", "vw", "vb", "step", "position", "order")}
    return {**numbers, "rng": line.rng.getstate()}


def restore(line, snapshot):
    for name in ("w", "b", "vw", "vb", "step", "position", "order"):
        setattr(line, name, snapshot[name])
    version, numbers, spare = snapshot["rng"]
    line.rng.setstate((version, tuple(numbers), spare))

# %% wrong: the generator itself -> card: not JSON serializable
def capture(line):
    return dict(vars(line))


def restore(line, snapshot):
    vars(line).update(snapshot)

# %% wrong: JSON's lists go back as they are -> card: must be a tuple
def capture(line):
    numbers = {name: getattr(line, name) for name in ("w", "b", "vw", "vb", "step", "position")}
    return {**numbers, "order": list(line.order), "rng": line.rng.getstate()}


def restore(line, snapshot):
    for name in ("w", "b", "vw", "vb", "step", "position", "order"):
        setattr(line, name, snapshot[name])
    line.rng.setstate(snapshot["rng"])

# %% wrong: restores a line of its own -> card: restore changed nothing
def capture(line):
    numbers = {name: getattr(line, name) for name in ("w", "b", "vw", "vb", "step", "position")}
    return {**numbers, "order": list(line.order), "rng": line.rng.getstate()}


def restore(line, snapshot):
    line = Line()
    line.w = snapshot["w"]
    return line
