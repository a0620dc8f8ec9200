"""measure.mystery"""

# %% right: reference
from labkit.pipeline.measured_draws import planted_of

causes = planted_of(variant("measure.mystery").job)

# %% right: in any order of letters
from labkit.pipeline.measured_draws import planted_of

causes = dict(sorted(planted_of(variant("measure.mystery").job).items(), reverse=True))

# %% wrong: everybody needs more workers -> card: are not so
causes = {"A": "too few workers", "B": "too few workers", "C": "too few workers"}

# %% wrong: all is well -> card: something takes time here
causes = {"A": "healthy", "B": "healthy", "C": "healthy"}

# %% wrong: the letters mixed up -> card: the letters mixed up
from labkit.pipeline.measured_draws import planted_of

a, b, c = planted_of(variant("measure.mystery").job).values()
causes = {"A": b, "B": c, "C": a}

# %% wrong: a word of one's own -> card: copy one of these words
causes = {"A": "slow", "B": "slow", "C": "healthy"}

# %% wrong: only one loader -> card: check the names
causes = {"A": "healthy"}
