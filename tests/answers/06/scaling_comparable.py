"""scaling.comparable"""

# %% right: reference
differs = {}
for letter, report in six.items():
    found = differences(first, report)
    differs[letter] = found[0].field if found else "nothing"

# %% right: field by field, from the files
import json

differs = {}
for letter, report in six.items():
    a, b = json.loads(first.to_json()), json.loads(report.to_json())
    fields = ("batch_size", "data", "ranks", "warmup", "steps", "discard")
    differs[letter] = next((field for field in fields if a[field] != b[field]), "nothing")

# %% wrong: all of them -> card: all may be compared
differs = dict.fromkeys("ABCDEF", "nothing")

# %% wrong: the protocol doesn't matter -> card: no unlike report is let through
differs = {}
for letter, report in six.items():
    found = [d.field for d in differences(first, report) if d.field in ("data", "batch_size", "ranks")]
    differs[letter] = found[0] if found else "nothing"

# %% wrong: settings keep them apart -> card: no like report is kept out
differs = {}
for letter, report in six.items():
    found = [d.field for d in differences(first, report)]
    differs[letter] = found[0] if found else "warmup" if report.settings != first.settings else "nothing"

# %% wrong: none of them -> card: kept out
differs = {letter: (differences(first, report) or [None])[0] for letter, report in six.items()}
differs = {letter: one.field if one else "data" for letter, one in differs.items()}

# %% wrong: another field -> card: the fields are the right ones
differs = {letter: "batch_size" if differences(first, report) else "nothing" for letter, report in six.items()}

# %% wrong: True and False -> card: a word for every report
differs = {letter: not differences(first, report) for letter, report in six.items()}
