"""scaling.straggler"""

# %% right: reference
import math

estimate = crowd.mean + crowd.deviation * math.sqrt(2 * math.log(crowd.ranks))
efficiency = crowd.mean / estimate

# %% right: with the instrument, rounded
estimate = round(straggler_estimate(crowd.mean, crowd.deviation, crowd.ranks), 1)
efficiency = round(crowd.mean / estimate, 2)

# %% wrong: nobody waits -> card: one rank's own mean
estimate = crowd.mean
efficiency = 1.0

# %% wrong: one deviation -> card: the mean and one deviation
estimate = crowd.mean + crowd.deviation
efficiency = crowd.mean / estimate

# %% wrong: without the root -> card: without the root
import math

estimate = crowd.mean + crowd.deviation * 2 * math.log(crowd.ranks)
efficiency = crowd.mean / estimate

# %% wrong: logarithm to base 2 -> card: base 2
import math

estimate = crowd.mean + crowd.deviation * math.sqrt(2 * math.log2(crowd.ranks))
efficiency = crowd.mean / estimate

# %% wrong: without the 2 -> card: without the factor 2
import math

estimate = crowd.mean + crowd.deviation * math.sqrt(math.log(crowd.ranks))
efficiency = crowd.mean / estimate

# %% wrong: what is lost -> card: what is lost
estimate = straggler_estimate(crowd.mean, crowd.deviation, crowd.ranks)
efficiency = 1 - crowd.mean / estimate

# %% wrong: a whole number of ms -> card: only the rounding is off: give one decimal place
exact = straggler_estimate(crowd.mean, crowd.deviation, crowd.ranks)
estimate = int(exact) if exact % 1 > 0.06 else int(exact) + 1
efficiency = round(crowd.mean / estimate, 2)

# %% wrong: one digit of a share -> card: only the rounding is off: give two decimal places
estimate = straggler_estimate(crowd.mean, crowd.deviation, crowd.ranks)
tenths = crowd.mean / estimate * 10
efficiency = (int(tenths) if tenths % 1 > 0.07 else int(tenths) + 1) / 10

# %% wrong: percent -> card: that is percent
estimate = straggler_estimate(crowd.mean, crowd.deviation, crowd.ranks)
efficiency = 100 * crowd.mean / estimate

# %% wrong: words -> card: two numbers
estimate = "long"
efficiency = "low"
