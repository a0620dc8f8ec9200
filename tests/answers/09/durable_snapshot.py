"""durable.snapshot"""

# %% right: reference
def start_save(state, write):
    held, failed = copy.deepcopy(state), []

    def run():
        try:
            write(held)
        except OSError as error:
            failed.append(error)

    thread = threading.Thread(target=run)
    thread.start()

    def wait():
        thread.join()
        if failed:
            raise failed[0]

    return wait

# %% right: by a pool
from concurrent.futures import ThreadPoolExecutor


def start_save(state, write):
    future = ThreadPoolExecutor(1).submit(write, copy.deepcopy(state))
    return future.result

# %% right: pickled at the call
import pickle


def start_save(state, write):
    frozen, errors = pickle.dumps(state), []

    def run():
        try:
            write(pickle.loads(frozen))
        except Exception as error:
            errors.append(error)

    thread = threading.Thread(target=run, daemon=True)
    thread.start()

    def wait():
        thread.join()
        for error in errors:
            raise error

    return wait

# %% wrong: no copy -> card: copied in the background
def start_save(state, write):
    failed = []

    def run():
        try:
            write(state)
        except OSError as error:
            failed.append(error)

    thread = threading.Thread(target=run)
    thread.start()

    def wait():
        thread.join()
        if failed:
            raise failed[0]

    return wait

# %% wrong: copied in the thread -> card: copied in the background
def start_save(state, write):
    failed = []

    def run():
        try:
            write(copy.deepcopy(state))
        except OSError as error:
            failed.append(error)

    thread = threading.Thread(target=run)
    thread.start()

    def wait():
        thread.join()
        if failed:
            raise failed[0]

    return wait

# %% wrong: a shallow copy -> card: two moments in one checkpoint
def start_save(state, write):
    held, failed = dict(state), []

    def run():
        try:
            write(held)
        except OSError as error:
            failed.append(error)

    thread = threading.Thread(target=run)
    thread.start()

    def wait():
        thread.join()
        if failed:
            raise failed[0]

    return wait

# %% wrong: tensors aren't copied -> card: scene: tensors
def start_save(state, write):
    def copied(value):
        if isinstance(value, dict):
            return {key: copied(item) for key, item in value.items()}
        return [copied(item) for item in value] if isinstance(value, list) else value

    held, failed = copied(state), []

    def run():
        try:
            write(held)
        except OSError as error:
            failed.append(error)

    thread = threading.Thread(target=run)
    thread.start()

    def wait():
        thread.join()
        if failed:
            raise failed[0]

    return wait

# %% wrong: writes at once -> card: training stands still
def start_save(state, write):
    failed = []
    try:
        write(copy.deepcopy(state))
    except OSError as error:
        failed.append(error)

    def wait():
        if failed:
            raise failed[0]

    return wait

# %% wrong: the failure stays in the thread -> card: reaches nobody by itself
def start_save(state, write):
    held = copy.deepcopy(state)

    def run():
        try:
            write(held)
        except OSError:
            pass

    thread = threading.Thread(target=run)
    thread.start()
    return thread.join

# %% wrong: waiting that doesn't wait -> card: wait returned before it was written
def start_save(state, write):
    held, failed = copy.deepcopy(state), []

    def run():
        try:
            write(held)
        except OSError as error:
            failed.append(error)

    threading.Thread(target=run).start()

    def wait():
        if failed:
            raise failed[0]

    return wait

# %% wrong: returns nothing -> card: return a function that waits
def start_save(state, write):
    threading.Thread(target=write, args=(copy.deepcopy(state),), daemon=True).run
