"""interval.optimum"""

# %% right: reference
mtbf = job.days * 24 * 60 / job.machines
by_young = young(job.save, mtbf)
by_daly = daly(job.save, mtbf)

# %% right: by hand, rounded
import math

mtbf = round(job.days * 1440 / job.machines, 1)
by_young = round(math.sqrt(2 * job.save * mtbf), 1)
x = job.save / (2 * mtbf)
by_daly = round(math.sqrt(2 * job.save * mtbf) * (1 + math.sqrt(x) / 3 + x / 9) - job.save, 1)

# %% wrong: one machine -> card: any one of them stops the job
mtbf = job.days * 1440
by_young, by_daly = young(job.save, mtbf), daly(job.save, mtbf)

# %% wrong: hours -> card: in hours
mtbf = job.days * 24 / job.machines
by_young, by_daly = young(job.save, mtbf), daly(job.save, mtbf)

# %% wrong: without the 2 -> card: without the 2
import math

mtbf = job.days * 1440 / job.machines
by_young, by_daly = math.sqrt(job.save * mtbf), daly(job.save, mtbf)

# %% wrong: Young twice -> card: Young's again
mtbf = job.days * 1440 / job.machines
by_young = by_daly = young(job.save, mtbf)

# %% wrong: without - C -> card: without the last term
mtbf = job.days * 1440 / job.machines
by_young, by_daly = young(job.save, mtbf), daly(job.save, mtbf) + job.save

# %% wrong: text -> card: three numbers
mtbf, by_young, by_daly = "often", "seldom", "seldom"
