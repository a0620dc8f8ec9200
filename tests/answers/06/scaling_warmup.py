"""scaling.warmup"""

# %% right: reference
from labkit.scaling.jobs import slow_steps

slow = {step for steps in slow_steps(mine.job) for step in steps}
warmup = next(step for step in range(26) if step not in slow)
later = sum(step > warmup for step in slow)

# %% right: read off three runs
runs = [times, run_job(mine.job), run_job(mine.job)]
slowest = [min(max(step) for step in steps) for steps in zip(*(zip(*run.seconds) for run in runs))]
slow = [seconds > 0.022 for seconds in slowest]
warmup = slow.index(False)
later = sum(slow[warmup:])

# %% wrong: the rank that is warm first -> card: the rank that is warm first
from labkit.scaling.jobs import slow_steps

slow = slow_steps(mine.job)
everywhere = set(slow[0]) & set(slow[1])
warmup = next(step for step in range(26) if step not in everywhere)
later = len({s for steps in slow for s in steps if s not in range(max(next(k for k in range(26) if k not in r) for r in slow))})

# %% wrong: all slow steps -> card: all slow steps, wherever they stand
from labkit.scaling.jobs import slow_steps

slow = {step for steps in slow_steps(mine.job) for step in steps}
warmup = len(slow)
later = sum(step > next(k for k in range(26) if k not in slow) for step in slow)

# %% wrong: up to the last slow one -> card: up to the last slow step
from labkit.scaling.jobs import slow_steps

warmup = 1 + max(step for steps in slow_steps(mine.job) for step in steps)
later = 0

# %% wrong: the last cold step's number -> card: the number of the last warm-up step
from labkit.scaling.jobs import slow_steps

slow = {step for steps in slow_steps(mine.job) for step in steps}
warmup = next(step for step in range(26) if step not in slow) - 1
later = sum(step > warmup + 1 for step in slow)

# %% wrong: one too many later -> card: the slow steps that stay are counted
from labkit.scaling.jobs import slow_steps

slow = {step for steps in slow_steps(mine.job) for step in steps}
warmup = next(step for step in range(26) if step not in slow)
later = sum(step > warmup for step in slow) + 1

# %% wrong: ten, as always -> card: warm steps are left out
warmup = 10
later = 0

# %% wrong: words -> card: two numbers of steps
warmup = "some"
later = "few"
