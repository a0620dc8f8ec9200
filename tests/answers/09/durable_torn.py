"""durable.torn"""

# %% right: reference
def verdict(folder):
    manifest = json.loads(folder["manifest.json"])
    for name, digest in manifest["sha256"].items():
        content = folder[name]
        if hashlib.sha256(content).hexdigest() == digest:
            continue
        if b"\0" in content:
            return "zeros"
        if not content.endswith(b"}"):
            return "torn"
        return "flipped" if json.loads(content)["step"] == manifest["step"] else "mixed"
    return "whole"


found = {letter: verdict(folder) for letter, folder in folders.items()}
silent = [letter for letter, word in found.items() if word in ("flipped", "mixed")]

# %% right: by trying to load
def parsed(content):
    try:
        return json.loads(content)
    except ValueError:
        return None


found, silent = {}, ()
for letter, folder in folders.items():
    m = json.loads(folder["manifest.json"])
    bad = [n for n, d in m["sha256"].items() if hashlib.sha256(folder[n]).hexdigest() != d]
    if not bad:
        found[letter] = "whole"
    elif parsed(folder[bad[0]]) is None:
        found[letter] = "zeros" if folder[bad[0]][-1] == 0 else "torn"
    else:
        found[letter] = "mixed" if parsed(folder[bad[0]])["step"] != m["step"] else "flipped"
        silent = (letter, *silent)

# %% wrong: what parses is whole -> card: whatever can be parsed is whole
def verdict(folder):
    for name in ("weights.json", "momentum.json"):
        if b"\0" in folder[name]:
            return "zeros"
        if not folder[name].endswith(b"}"):
            return "torn"
    return "whole"


found = {letter: verdict(folder) for letter, folder in folders.items()}
silent = []

# %% wrong: flipped and mixed swapped -> card: the other way round
def verdict(folder):
    manifest = json.loads(folder["manifest.json"])
    for name, digest in manifest["sha256"].items():
        content = folder[name]
        if hashlib.sha256(content).hexdigest() != digest:
            if b"\0" in content:
                return "zeros"
            if not content.endswith(b"}"):
                return "torn"
            return "mixed" if json.loads(content)["step"] == manifest["step"] else "flipped"
    return "whole"


found = {letter: verdict(folder) for letter, folder in folders.items()}
silent = [letter for letter, word in found.items() if word in ("flipped", "mixed")]

# %% wrong: no damage is silent -> card: one is left out
def verdict(folder):
    manifest = json.loads(folder["manifest.json"])
    for name, digest in manifest["sha256"].items():
        content = folder[name]
        if hashlib.sha256(content).hexdigest() != digest:
            if b"\0" in content:
                return "zeros"
            if not content.endswith(b"}"):
                return "torn"
            return "flipped" if json.loads(content)["step"] == manifest["step"] else "mixed"
    return "whole"


found = {letter: verdict(folder) for letter, folder in folders.items()}
silent = []

# %% wrong: the whole one is silent as well -> card: a whole one isn't damaged
def verdict(folder):
    manifest = json.loads(folder["manifest.json"])
    for name, digest in manifest["sha256"].items():
        content = folder[name]
        if hashlib.sha256(content).hexdigest() != digest:
            if b"\0" in content:
                return "zeros"
            if not content.endswith(b"}"):
                return "torn"
            return "flipped" if json.loads(content)["step"] == manifest["step"] else "mixed"
    return "whole"


found = {letter: verdict(folder) for letter, folder in folders.items()}
silent = [letter for letter, word in found.items() if word in ("flipped", "mixed", "whole")]

# %% wrong: a word of one's own -> card: one of
found, silent = dict.fromkeys("ABCDEF", "broken"), []
