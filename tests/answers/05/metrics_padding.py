"""metrics.padding"""

# %% right: reference
def each_once(rows):
    return list({row[0]: row for row in rows}.values())

# %% right: seen ids
def each_once(rows):
    seen, kept = set(), []
    for one, prediction, target in rows:
        if one not in seen:
            seen.add(one)
            kept.append((one, prediction, target))
    return kept

# %% wrong: nothing removed -> card: nothing was removed
def each_once(rows):
    return rows

# %% wrong: by position -> card: a row went that isn't borrowed
def each_once(rows):
    return rows[: len({row[0] for row in rows})]

# %% wrong: by content -> card: no sample is lost
def each_once(rows):
    kept, seen = [], set()
    for row in rows:
        if row[1:] not in seen:
            seen.add(row[1:])
            kept.append(row)
    return kept

# %% wrong: both copies gone -> card: gone altogether
def each_once(rows):
    ids = [row[0] for row in rows]
    return [row for row in rows if ids.count(row[0]) == 1]

# %% wrong: neighbours alone -> card: one row for each sample
def each_once(rows):
    return [row for i, row in enumerate(rows) if i == 0 or row[0] != rows[i - 1][0]]

# %% wrong: the ids alone -> card: rows of the input
def each_once(rows):
    return sorted({row[0] for row in rows}, key=repr)

# %% wrong: a count -> card: a list of rows
def each_once(rows):
    return len({row[0] for row in rows})
