"""records.identity"""

# %% right: reference
def identity(config, samples, ignore):
    kept = {key: value for key, value in config.items() if key not in ignore}
    return hashlib.sha256(json.dumps([kept, samples], sort_keys=True).encode()).hexdigest()[:12]

# %% right: by hand
def identity(config, samples, ignore):
    def told(value):
        if isinstance(value, dict):
            return "{" + ",".join(f"{key!r}:{told(value[key])}" for key in sorted(value)) + "}"
        return repr(value)

    digest = hashlib.md5()
    for key in sorted(set(config) - set(ignore)):
        digest.update(f"{key!r}={told(config[key])};".encode())
    for sample in samples:
        digest.update(f"{len(sample)}:{sample}".encode())
    return digest.hexdigest()

# %% wrong: hash -> card: hash() of a text differs from process to process
def identity(config, samples, ignore):
    kept = {key: value for key, value in config.items() if key not in ignore}
    return f"{hash(json.dumps([kept, samples], sort_keys=True)):020d}"

# %% wrong: keys as they come -> card: only the order of the keys differs
def identity(config, samples, ignore):
    kept = {key: value for key, value in config.items() if key not in ignore}
    return hashlib.sha256(repr([kept, samples]).encode()).hexdigest()[:12]

# %% wrong: outer keys alone in order -> card: in inner dicts as well
def identity(config, samples, ignore):
    kept = sorted((key, str(value)) for key, value in config.items() if key not in ignore)
    return hashlib.sha256(repr([kept, samples]).encode()).hexdigest()[:12]

# %% wrong: nothing ignored -> card: is in `ignore`
def identity(config, samples, ignore):
    return hashlib.sha256(json.dumps([config, samples], sort_keys=True).encode()).hexdigest()[:12]

# %% wrong: joined -> card: joined without marks between them
def identity(config, samples, ignore):
    kept = {key: value for key, value in config.items() if key not in ignore}
    return hashlib.sha256((json.dumps(kept, sort_keys=True) + "".join(samples)).encode()).hexdigest()[:12]

# %% wrong: the order of samples lost -> card: another name: the samples are
def identity(config, samples, ignore):
    kept = {key: value for key, value in config.items() if key not in ignore}
    return hashlib.sha256(json.dumps([kept, sorted(samples)], sort_keys=True).encode()).hexdigest()[:12]

# %% wrong: the configuration alone -> card: another name: the samples are
def identity(config, samples, ignore):
    kept = {key: value for key, value in config.items() if key not in ignore}
    return hashlib.sha256(json.dumps(kept, sort_keys=True).encode()).hexdigest()[:12]

# %% wrong: rounded -> card: another name: config['lr']
def identity(config, samples, ignore):
    kept = {key: value for key, value in config.items() if key not in ignore} | {"lr": round(config["lr"], 6)}
    return hashlib.sha256(json.dumps([kept, samples], sort_keys=True).encode()).hexdigest()[:12]

# %% wrong: the whole text -> card: a text of 6 to 100 characters
def identity(config, samples, ignore):
    return json.dumps([config, samples] * 3, sort_keys=True)
