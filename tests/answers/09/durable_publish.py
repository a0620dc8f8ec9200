"""durable.publish"""

# %% right: reference
def save(disk, text):
    disk.write("checkpoint.tmp", text)
    disk.fsync("checkpoint.tmp")
    if disk.read("checkpoint.tmp") != text:
        raise OSError("what was written reads back differently")
    disk.rename("checkpoint.tmp", "checkpoint.json")
    disk.fsync_dir()

# %% right: tries again where it reads back differently
def save(disk, text):
    for attempt in range(3):
        name = f"attempt-{attempt}"
        if disk.exists(name):
            disk.remove(name)
        disk.write(name, text)
        disk.fsync(name)
        if disk.read(name) == text:
            break
        disk.remove(name)
    else:
        raise OSError("the disk changes what is written")
    disk.rename(name, "checkpoint.json")
    disk.fsync_dir()

# %% right: after a failed fsync it writes another file
def save(disk, text):
    for name in ("first.tmp", "second.tmp"):
        try:
            disk.write(name, text)
            disk.fsync(name)
        except OSError:
            continue
        if disk.read(name) == text:
            disk.rename(name, "checkpoint.json")
            disk.fsync_dir()
            return
    raise OSError("it can't be saved")

# %% wrong: in place -> card: the only checkpoint is written over
def save(disk, text):
    disk.write("checkpoint.json", text)
    disk.fsync("checkpoint.json")
    disk.fsync_dir()

# %% wrong: no fsync of the content -> card: the new name was on the disk before the content was
def save(disk, text):
    disk.write("checkpoint.tmp", text)
    if disk.read("checkpoint.tmp") != text:
        raise OSError
    disk.rename("checkpoint.tmp", "checkpoint.json")
    disk.fsync_dir()

# %% wrong: fsync after the rename -> card: the new name was on the disk before the content was
def save(disk, text):
    disk.write("checkpoint.tmp", text)
    if disk.read("checkpoint.tmp") != text:
        raise OSError
    disk.rename("checkpoint.tmp", "checkpoint.json")
    disk.fsync("checkpoint.json")
    disk.fsync_dir()

# %% wrong: no fsync of the directory -> card: its rename was still only in memory
def save(disk, text):
    disk.write("checkpoint.tmp", text)
    disk.fsync("checkpoint.tmp")
    if disk.read("checkpoint.tmp") != text:
        raise OSError
    disk.rename("checkpoint.tmp", "checkpoint.json")

# %% wrong: the directory before the rename -> card: its rename was still only in memory
def save(disk, text):
    disk.write("checkpoint.tmp", text)
    disk.fsync("checkpoint.tmp")
    disk.fsync_dir()
    if disk.read("checkpoint.tmp") != text:
        raise OSError
    disk.rename("checkpoint.tmp", "checkpoint.json")

# %% wrong: removes the old one first -> card: the old file was removed
def save(disk, text):
    disk.write("checkpoint.tmp", text)
    disk.fsync("checkpoint.tmp")
    if disk.read("checkpoint.tmp") != text:
        raise OSError
    disk.remove("checkpoint.json")
    disk.fsync_dir()
    disk.rename("checkpoint.tmp", "checkpoint.json")
    disk.fsync_dir()

# %% wrong: never reads back -> card: never read back
def save(disk, text):
    disk.write("checkpoint.tmp", text)
    disk.fsync("checkpoint.tmp")
    disk.rename("checkpoint.tmp", "checkpoint.json")
    disk.fsync_dir()

# %% wrong: gives up in silence -> card: the caller believes that it is saved
def save(disk, text):
    disk.write("checkpoint.tmp", text)
    disk.fsync("checkpoint.tmp")
    if disk.read("checkpoint.tmp") == text:
        disk.rename("checkpoint.tmp", "checkpoint.json")
        disk.fsync_dir()

# %% wrong: a failed fsync is tried again -> card: a second fsync then reports success
def save(disk, text):
    disk.write("checkpoint.tmp", text)
    try:
        disk.fsync("checkpoint.tmp")
    except OSError:
        disk.fsync("checkpoint.tmp")
    if disk.read("checkpoint.tmp") != text:
        raise OSError
    disk.rename("checkpoint.tmp", "checkpoint.json")
    disk.fsync_dir()

# %% wrong: another name -> card: the file itself wasn't replaced
def save(disk, text):
    disk.write("checkpoint-new.json", text)
    disk.fsync("checkpoint-new.json")
    disk.fsync_dir()
