"""contract.statistical"""

# %% right: reference
verdicts = {}
for letter, test in tests.items():
    low, high = test.interval
    outside = low > job.margin or high < -job.margin
    verdicts[letter] = "equivalent" if test.equivalent else "different" if outside else "undecided"

# %% right: by distance
verdicts = {}
for letter, test in tests.items():
    low, high = test.interval
    farthest = max(abs(low), abs(high))
    nearest = 0 if low < 0 < high else min(abs(low), abs(high))
    verdicts[letter] = (
        "equivalent" if farthest < job.margin else "different" if nearest > job.margin else "undecided"
    )

# %% wrong: a t-test -> card: what a t-test says
verdicts = {}
for letter, run in losses.items():
    low, high = tost(run["straight"], run["resumed"], margin=1, alpha=0.025).interval
    verdicts[letter] = "equivalent" if low <= 0 <= high else "different"

# %% wrong: a significant difference matters -> card: a significant difference always matters
verdicts = {}
for letter, run in losses.items():
    low, high = tost(run["straight"], run["resumed"], margin=1, alpha=0.025).interval
    test = tests[letter]
    found = "equivalent" if test.equivalent else "undecided"
    if min(abs(end) for end in test.interval) > job.margin and test.interval[0] * test.interval[1] > 0:
        found = "different"
    verdicts[letter] = found if low <= 0 <= high else "different"

# %% wrong: not shown is different -> card: what isn't shown to be equivalent is different
verdicts = {letter: "equivalent" if test.equivalent else "different" for letter, test in tests.items()}

# %% wrong: all equivalent -> card: all are equivalent
verdicts = dict.fromkeys("ABCD", "equivalent")

# %% wrong: p-values -> card: a verdict for every program
verdicts = {letter: test.p for letter, test in tests.items()}
