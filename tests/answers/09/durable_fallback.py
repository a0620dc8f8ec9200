"""durable.fallback"""

# %% right: reference
def newest(checkpoints):
    passed_over = []
    for one in sorted(checkpoints, key=lambda c: c["step"], reverse=True):
        if one["manifest"] is not None and all(
            name in one["files"] and hashlib.sha256(one["files"][name].encode()).hexdigest() == digest
            for name, digest in one["manifest"].items()
        ):
            return one["step"], passed_over
        passed_over.append(one["step"])
    return None, passed_over

# %% right: good ones first, then what is newer
def newest(checkpoints):
    def sums(one):
        return {name: hashlib.sha256(text.encode()).hexdigest() for name, text in one["files"].items()}

    good = [c["step"] for c in checkpoints if c["manifest"] and c["manifest"].items() <= sums(c).items()]
    best = max(good, default=None)
    newer = [c["step"] for c in checkpoints if best is None or c["step"] > best]
    return [best, sorted(newer, reverse=True)]

# %% wrong: the newest, whatever it is -> card: is taken
def newest(checkpoints):
    return max(c["step"] for c in checkpoints), []

# %% wrong: a manifest is enough -> card: a file of its manifest is missing
def newest(checkpoints):
    passed = []
    for one in sorted(checkpoints, key=lambda c: -c["step"]):
        if one["manifest"] is not None and all(
            hashlib.sha256(text.encode()).hexdigest() == one["manifest"].get(name, hashlib.sha256(text.encode()).hexdigest())
            for name, text in one["files"].items()
        ):
            return one["step"], passed
        passed.append(one["step"])
    return None, passed

# %% wrong: files are there, unread -> card: a file doesn't match its checksum
def newest(checkpoints):
    passed = []
    for one in sorted(checkpoints, key=lambda c: -c["step"]):
        if one["manifest"] is not None and set(one["manifest"]) <= set(one["files"]):
            return one["step"], passed
        passed.append(one["step"])
    return None, passed

# %% wrong: a leftover damns it -> card: a file that isn't in the manifest does no harm
def newest(checkpoints):
    passed = []
    for one in sorted(checkpoints, key=lambda c: -c["step"]):
        sums = {name: hashlib.sha256(text.encode()).hexdigest() for name, text in one["files"].items()}
        if one["manifest"] == sums:
            return one["step"], passed
        passed.append(one["step"])
    return None, passed

# %% wrong: only the newest is looked at -> card: older ones count, too
def newest(checkpoints):
    one = max(checkpoints, key=lambda c: c["step"])
    sums = {name: hashlib.sha256(text.encode()).hexdigest() for name, text in one["files"].items()}
    if one["manifest"] is not None and one["manifest"].items() <= sums.items():
        return one["step"], []
    return None, [one["step"]]

# %% wrong: steps as text -> card: steps were compared as text
def newest(checkpoints):
    passed = []
    for one in sorted(checkpoints, key=lambda c: str(c["step"]), reverse=True):
        sums = {name: hashlib.sha256(text.encode()).hexdigest() for name, text in one["files"].items()}
        if one["manifest"] is not None and one["manifest"].items() <= sums.items():
            return one["step"], passed
        passed.append(one["step"])
    return None, passed

# %% wrong: in silence -> card: a silent fallback
def newest(checkpoints):
    for one in sorted(checkpoints, key=lambda c: -c["step"]):
        sums = {name: hashlib.sha256(text.encode()).hexdigest() for name, text in one["files"].items()}
        if one["manifest"] is not None and one["manifest"].items() <= sums.items():
            return one["step"], []
    return None, []

# %% wrong: every bad one is passed over -> card: older ones weren't passed over
def newest(checkpoints):
    good, bad = [], []
    for one in sorted(checkpoints, key=lambda c: -c["step"]):
        sums = {name: hashlib.sha256(text.encode()).hexdigest() for name, text in one["files"].items()}
        fine = one["manifest"] is not None and one["manifest"].items() <= sums.items()
        (good if fine else bad).append(one["step"])
    return (good or [None])[0], bad

# %% wrong: a step alone -> card: a step or None, and a list
def newest(checkpoints):
    return checkpoints[0]["step"]
