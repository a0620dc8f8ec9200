"""accumulate.mid_step"""

# %% right: reference
def save(run):
    return {"w": run.w, "b": run.b, "vw": run.vw, "vb": run.vb, "step": run.step, "cursor": run.cursor - run.done}


def resume(run, snapshot):
    run.w, run.b, run.vw, run.vb = (snapshot[name] for name in ("w", "b", "vw", "vb"))
    run.step, run.cursor = snapshot["step"], snapshot["cursor"]

# %% right: the partials
NAMES = ("w", "b", "vw", "vb", "step", "cursor", "gw", "gb", "samples", "done")


def save(run):
    return {name: getattr(run, name) for name in NAMES}


def resume(run, snapshot):
    for name, value in snapshot.items():
        setattr(run, name, value)

# %% right: the update is where its micro-batches begin
def save(run):
    return [run.w, run.b, run.vw, run.vb, run.step]


def resume(run, snapshot):
    run.w, run.b, run.vw, run.vb, run.step = snapshot
    run.cursor = run.step * run.accumulate

# %% wrong: gradients dropped -> card: the cursor says they are used
NAMES = ("w", "b", "vw", "vb", "step", "cursor")


def save(run):
    return {name: getattr(run, name) for name in NAMES}


def resume(run, snapshot):
    for name, value in snapshot.items():
        setattr(run, name, value)

# %% wrong: no denominator -> card: divides by too few
NAMES = ("w", "b", "vw", "vb", "step", "cursor", "gw", "gb", "done")


def save(run):
    return {name: getattr(run, name) for name in NAMES}


def resume(run, snapshot):
    for name, value in snapshot.items():
        setattr(run, name, value)

# %% wrong: no count -> card: the update comes too late
NAMES = ("w", "b", "vw", "vb", "step", "cursor", "gw", "gb", "samples")


def save(run):
    return {name: getattr(run, name) for name in NAMES}


def resume(run, snapshot):
    for name, value in snapshot.items():
        setattr(run, name, value)

# %% wrong: no gradients -> card: divides by too many
NAMES = ("w", "b", "vw", "vb", "step", "cursor", "samples", "done")


def save(run):
    return {name: getattr(run, name) for name in NAMES}


def resume(run, snapshot):
    for name, value in snapshot.items():
        setattr(run, name, value)

# %% wrong: back and kept -> card: added twice
NAMES = ("w", "b", "vw", "vb", "step", "gw", "gb")


def save(run):
    return {name: getattr(run, name) for name in NAMES} | {"cursor": run.cursor - run.done}


def resume(run, snapshot):
    for name, value in snapshot.items():
        setattr(run, name, value)

# %% wrong: no momentum -> card: the momentum didn't come back
NAMES = ("w", "b", "step", "cursor", "gw", "gb", "samples", "done")


def save(run):
    return {name: getattr(run, name) for name in NAMES}


def resume(run, snapshot):
    for name, value in snapshot.items():
        setattr(run, name, value)

# %% wrong: no cursor -> card: reads from the start
NAMES = ("w", "b", "vw", "vb", "step", "gw", "gb", "samples", "done")


def save(run):
    return {name: getattr(run, name) for name in NAMES}


def resume(run, snapshot):
    for name, value in snapshot.items():
        setattr(run, name, value)

# %% wrong: no step -> card: the count of updates didn't come back
NAMES = ("w", "b", "vw", "vb", "cursor", "gw", "gb", "samples", "done")


def save(run):
    return {name: getattr(run, name) for name in NAMES}


def resume(run, snapshot):
    for name, value in snapshot.items():
        setattr(run, name, value)

# %% wrong: a new run of its own -> card: nothing was put into the new run
def save(run):
    return {"step": run.step}


def resume(run, snapshot):
    run = Accumulation(run.seed, run.accumulate)
    run.step = snapshot["step"]
