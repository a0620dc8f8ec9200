"""metrics.audit"""

# %% right: reference
verdicts = {}
for letter, suspect in suspects.items():
    findings = suspect.audit().findings
    verdicts[letter] = findings[0].kind if findings else "nothing"

# %% right: by what moves it
verdicts = {}
for letter, suspect in suspects.items():
    report = suspect.audit(ranks=2)
    if not report.invariant:
        rows = [row for row in report.rows if row.kind == "exact"]
        by_formula = all(row.formula is not None and report.same(row.bias - row.formula + report.value) for row in rows)
        verdicts[letter] = "mean of means" if by_formula else "not a mean"
    elif not all(report.same(row.value) for row in report.rows if row.kind == "padded"):
        verdicts[letter] = "padding"
    else:
        verdicts[letter] = "precision" if any(r.dtype == "float32" for r in report.headroom) else "nothing"

# %% wrong: all fine -> card: nothing is wrong anywhere
verdicts = dict.fromkeys("ABCDE", "nothing")

# %% wrong: whatever moves is a mean of means -> card: every suspect that moves is a mean of means
verdicts = {letter: (s.audit().findings or [None])[0] for letter, s in suspects.items()}
verdicts = {k: "nothing" if f is None else f.kind.replace("not a mean", "mean of means") for k, f in verdicts.items()}

# %% wrong: exact partitions alone -> card: the same on every exact partition is right
verdicts = {}
for letter, suspect in suspects.items():
    report = suspect.audit()
    verdicts[letter] = "nothing" if report.invariant else report.findings[0].kind

# %% wrong: the last finding -> card: what must be mended first
verdicts = {}
for letter, suspect in suspects.items():
    findings = [f.kind for f in suspect.audit().findings if f.kind != "idle rank"]
    verdicts[letter] = findings[-1] if findings else "nothing"

# %% wrong: a word of one's own -> card: one of
verdicts = dict.fromkeys("ABCDE", "broken")

# %% wrong: one missing -> card: a verdict for every suspect
verdicts = {letter: "nothing" for letter in "ABCD"}
