"""packing.read_modes"""

# %% right: reference
def state(job):
    return job["epoch"] == 0 or job["data_gb"] > modes_job.memory_gb


modes = {n: {"format": "tfrecord", "index": True, "cold": state(j)} for n, j in modes_job.jobs.items()}

# %% right: tar, and an index only where the reader jumps
modes = {}
for name, job in modes_job.jobs.items():
    first_time = job["epoch"] == 0
    fits = job["data_gb"] <= modes_job.memory_gb
    modes[name] = {"format": "tar", "index": job["reads"] != "all", "cold": first_time or not fits}

# %% right: LMDB where it is read in order
modes = {}
for name, job in modes_job.jobs.items():
    cold = job["epoch"] == 0 or job["data_gb"] > modes_job.memory_gb
    modes[name] = {"format": "lmdb" if job["reads"] == "all" else "tar", "index": True, "cold": cold}

# %% wrong: small files -> card: opened one by one
modes = {n: {"format": "files", "index": True, "cold": j["epoch"] == 0 or j["data_gb"] > modes_job.memory_gb}
         for n, j in modes_job.jobs.items()}

# %% wrong: no index -> card: index
modes = {n: {"format": "tar", "index": False, "cold": j["epoch"] == 0 or j["data_gb"] > modes_job.memory_gb}
         for n, j in modes_job.jobs.items()}

# %% wrong: LMDB for single small records -> card: LMDB reads whole pages
modes = {n: {"format": "lmdb", "index": True, "cold": j["epoch"] == 0 or j["data_gb"] > modes_job.memory_gb}
         for n, j in modes_job.jobs.items()}

# %% wrong: always measured warm -> card: the rule 'always warm'
modes = {n: {"format": "tar", "index": True, "cold": False} for n in modes_job.jobs}

# %% wrong: always measured cold -> card: the rule 'always cold'
modes = {n: {"format": "tar", "index": True, "cold": True} for n in modes_job.jobs}

# %% wrong: only the first epoch cold -> card: only the first epoch is cold
modes = {n: {"format": "tar", "index": True, "cold": j["epoch"] == 0} for n, j in modes_job.jobs.items()}

# %% wrong: a format that there isn't -> card: one of 'files', 'tar'
modes = {n: {"format": "zip", "index": True, "cold": True} for n in modes_job.jobs}

# %% wrong: a word for cold -> card: write True or False, without quotes
modes = {n: {"format": "tar", "index": True, "cold": "warm"} for n in modes_job.jobs}

# %% wrong: words for flags -> card: one of True, False
modes = {n: {"format": "tar", "index": "yes", "cold": True} for n in modes_job.jobs}
