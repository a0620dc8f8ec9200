"""packing.same_samples"""

# %% right: reference
import hashlib


def content_hash(samples):
    total = hashlib.sha256()

    def feed(piece):
        data = piece.encode()
        total.update(f"{len(data)}:".encode() + data)

    for key, fields in samples:
        feed(key)
        feed(str(len(fields)))
        for name in sorted(fields):
            feed(name)
            feed(fields[name])
    return total.hexdigest()

# %% right: as JSON
import hashlib
import json


def content_hash(samples):
    return hashlib.md5(json.dumps(samples, sort_keys=True).encode()).hexdigest()

# %% right: a hash of hashes
import hashlib


def content_hash(samples):
    def digest(text):
        return hashlib.sha1(text.encode()).hexdigest()

    parts = []
    for key, fields in samples:
        inner = [digest(name) + digest(data) for name, data in sorted(fields.items())]
        parts.append(digest(digest(key) + "".join(inner)))
    return digest("".join(parts))

# %% wrong: the pieces joined -> card: without a mark that says where each ends
import hashlib


def content_hash(samples):
    total = hashlib.sha256()
    for key, fields in samples:
        total.update(key.encode())
        for name in sorted(fields):
            total.update(name.encode() + fields[name].encode())
    return total.hexdigest()

# %% wrong: joined with a separator -> card: one that content may hold
import hashlib


def content_hash(samples):
    text = "\n".join(",".join([key, *(x for n in sorted(f) for x in (n, f[n]))]) for key, f in samples)
    return hashlib.sha256(text.encode()).hexdigest()

# %% wrong: lengths, but no number of fields -> card: the number of fields before the fields
import hashlib


def content_hash(samples):
    total = hashlib.sha256()
    for key, fields in samples:
        for piece in (key, *(x for name in sorted(fields) for x in (name, fields[name]))):
            total.update(f"{len(piece)}:{piece}".encode())
    return total.hexdigest()

# %% wrong: the sum of the samples' hashes -> card: forgets their order
import hashlib
import json


def content_hash(samples):
    return hex(sum(int(hashlib.sha256(json.dumps(s, sort_keys=True).encode()).hexdigest(), 16) for s in samples) % 2**256)

# %% wrong: fields as they come -> card: sort the names of the fields
import hashlib


def content_hash(samples):
    return hashlib.sha256(str(samples).encode()).hexdigest()

# %% wrong: contents only -> card: hash the key and every field
import hashlib


def content_hash(samples):
    total = hashlib.sha256()
    for _, fields in samples:
        for name in sorted(fields):
            total.update(f"{len(name)}:{name}{len(fields[name])}:{fields[name]}".encode())
    return total.hexdigest()

# %% wrong: the number of samples -> card: the hash is a text
def content_hash(samples):
    return len(samples)

# %% wrong: everything written out -> card: the samples written out
import json


def content_hash(samples):
    return json.dumps(samples, sort_keys=True)

# %% wrong: nothing returned -> card: is `return` missing
def content_hash(samples):
    str(samples)
