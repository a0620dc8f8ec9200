"""metrics.precision"""

# %% right: reference
bits = {"float32": 24, "float16": 11, "bfloat16": 8, "int64": 63}
shows = {k: min(c["adds"] * c["updates"], c["adds"] * 2 ** bits[c["dtype"]]) for k, c in five.counters.items()}

# %% right: by asking the types
shows = {}
for letter, c in five.counters.items():
    exact = c["adds"] * c["updates"]
    shows[letter] = exact if c["dtype"] == "int64" else int(min(exact, float_stall(c["dtype"], c["adds"]).at))

# %% wrong: exact -> card: if every type counted exactly
shows = {k: c["adds"] * c["updates"] for k, c in five.counters.items()}

# %% wrong: everything stops at 2**24 -> card: every type stops at 16,777,216
shows = {k: min(c["adds"] * c["updates"], 2**24) for k, c in five.counters.items()}

# %% wrong: the step doesn't matter -> card: if the step didn't matter
bits = {"float32": 24, "float16": 11, "bfloat16": 8, "int64": 63}
shows = {k: min(c["adds"] * c["updates"], 2 ** bits[c["dtype"]]) for k, c in five.counters.items()}

# %% wrong: only float32 stops -> card: only float32 stops
shows = {k: c["adds"] * c["updates"] for k, c in five.counters.items()}
shows |= {k: min(shows[k], c["adds"] * 2**24) for k, c in five.counters.items() if c["dtype"] == "float32"}

# %% wrong: the stop everywhere -> card: no counter shows more than was added
bits = {"float32": 24, "float16": 11, "bfloat16": 8, "int64": 63}
shows = {k: c["adds"] * 2 ** bits[c["dtype"]] for k, c in five.counters.items()}

# %% wrong: halves -> card: a whole number
shows = {k: c["adds"] * c["updates"] + 0.5 for k, c in five.counters.items()}
