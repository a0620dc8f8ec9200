"""resume.reconcile"""

# %% right: reference
def first_difference(a, b):
    others = {row["step"]: row for row in b}
    for row in a:
        if row["step"] in others:
            for name in ("ids", "parameters", "optimizer", "position", "order", "rng"):
                if row[name] != others[row["step"]][name]:
                    return row["step"], name
    return None

# %% right: all differences, the least of them
def first_difference(a, b):
    names = ["ids", "parameters", "optimizer", "position", "order", "rng"]
    found = [(x["step"], names.index(n)) for x in a for y in b for n in names if x["step"] == y["step"] and x[n] != y[n]]
    return [min(found)[0], names[min(found)[1]]] if found else None

# %% wrong: by place in the list -> card: by their place in the list
def first_difference(a, b):
    for row, other in zip(a, b):
        for name in ("ids", "parameters", "optimizer", "position", "order", "rng"):
            if row[name] != other[name]:
                return row["step"], name
    return None

# %% wrong: everything in the row -> card: file and seconds aren't state
def first_difference(a, b):
    others = {row["step"]: row for row in b}
    for row in a:
        for name in row:
            if row["step"] in others and row[name] != others[row["step"]][name]:
                return row["step"], name
    return None

# %% wrong: nearly the same -> card: a difference of one bit is one
def first_difference(a, b):
    others = {row["step"]: row for row in b}
    for row in a:
        other = others.get(row["step"])
        if other is None:
            continue
        for name in ("ids", "parameters", "optimizer", "position", "order", "rng"):
            if name in ("parameters", "optimizer"):
                if not all(math.isclose(row[name][k], other[name][k], rel_tol=1e-6) for k in "wb"):
                    return row["step"], name
            elif row[name] != other[name]:
                return row["step"], name
    return None

# %% wrong: weights alone -> card: go through all components
def first_difference(a, b):
    others = {row["step"]: row for row in b}
    for row in a:
        if row["step"] in others:
            for name in ("parameters", "optimizer"):
                if row[name] != others[row["step"]][name]:
                    return row["step"], name
    return None

# %% wrong: component by component -> card: something differs before
def first_difference(a, b):
    others = {row["step"]: row for row in b}
    for name in ("ids", "parameters", "optimizer", "position", "order", "rng"):
        for row in a:
            if row["step"] in others and row[name] != others[row["step"]][name]:
                return row["step"], name
    return None

# %% wrong: the last difference -> card: that is the last step that differs
def first_difference(a, b):
    others, found = {row["step"]: row for row in b}, None
    for row in a:
        if row["step"] in others:
            for name in ("ids", "parameters", "optimizer", "position", "order", "rng"):
                if row[name] != others[row["step"]][name]:
                    found = row["step"], name
                    break
    return found

# %% wrong: in an order of its own -> card: the first of the components
def first_difference(a, b):
    others = {row["step"]: row for row in b}
    for row in a:
        if row["step"] in others:
            for name in ("rng", "order", "position", "optimizer", "parameters", "ids"):
                if row[name] != others[row["step"]][name]:
                    return row["step"], name
    return None

# %% wrong: True or False -> card: None, or a pair
def first_difference(a, b):
    return a != b
