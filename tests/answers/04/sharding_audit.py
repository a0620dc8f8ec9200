"""sharding.audit"""

# %% right: reference
found = {}
for name, number in four.loaders.items():
    report = audit(mystery(number), ranks=four.ranks)
    found[name] = {
        "cause": report.causes[0] if report.causes else "nothing",
        "again": len(report.duplicates),
        "missing": len(report.missing),
    }

# %% right: counted in the ledger's frame
found = {}
for name, number in four.loaders.items():
    report = audit(mystery(number), ranks=four.ranks, epochs=3)
    first = report.frame().query("epoch == 0")
    cause = next((finding.cause for finding in report.findings), "nothing")
    found[name] = {"cause": cause, "again": int(first["again"].sum()), "missing": report.samples - first["id"].nunique()}

# %% wrong: nothing wrong -> card: what the check's own audit
found = {name: {"cause": "nothing", "again": 0, "missing": 0} for name in "ABCD"}

# %% wrong: padding everywhere -> card: on real ranks, calls it
found = {}
for name, number in four.loaders.items():
    report = audit(mystery(number), ranks=four.ranks)
    again = len(report.duplicates)
    found[name] = {"cause": "padding" if again else "nothing", "again": again, "missing": len(report.missing)}

# %% wrong: both epochs counted -> card: of epoch 0
found = {}
for name, number in four.loaders.items():
    report = audit(mystery(number), ranks=four.ranks)
    found[name] = {
        "cause": report.causes[0] if report.causes else "nothing",
        "again": sum(len(report.repeated(e)) for e in (0, 1)),
        "missing": sum(len(report.missed(e)) for e in (0, 1)),
    }

# %% wrong: the two exchanged -> card: of epoch 0
found = {}
for name, number in four.loaders.items():
    report = audit(mystery(number), ranks=four.ranks)
    found[name] = {
        "cause": report.causes[0] if report.causes else "nothing",
        "again": len(report.missing),
        "missing": len(report.duplicates),
    }

# %% wrong: own words -> card: a word of labkit.sharding.CAUSES
found = {name: {"cause": "duplicates", "again": 0, "missing": 0} for name in "ABCD"}

# %% wrong: the ids in place of their number -> card: a whole number
report = audit(mystery(four.loaders["A"]), ranks=four.ranks)
found = {name: {"cause": "padding", "again": list(report.duplicates), "missing": 0} for name in "ABCD"}
