# make lab: open the course.  make test: run everything.  Both build .venv first, once.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check
PORT ?= 8888
# One more than the cores: a good part of the tests waits, for a kernel, a browser or a clock.
WORKERS ?= $(shell echo $$(($$(getconf _NPROCESSORS_ONLN) + 1)))
# Labs and tests start several processes; one thread each keeps two cores from thrashing.
export OMP_NUM_THREADS ?= 1
export PLAYWRIGHT_SKIP_BROWSER_DOWNLOAD := 1
# Compiled once, not by every process again.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: lab test setup quick check bench clean

lab: $(VENV)/.lab
	@$(BIN)/labkit lab --port $(PORT) $(if $(filter 0,$(BROWSER)),--no-browser)

setup: $(VENV)/.test

test: $(VENV)/.test
	@$(BIN)/python -m pytest -n $(WORKERS) --dist worksteal

quick: $(VENV)/.test
	@$(BIN)/python -m pytest -n $(WORKERS) --dist worksteal -q -m "not slow and not browser"

check: $(VENV)/.test
	@$(BIN)/ruff format --check .
	@$(BIN)/ruff check .
	@$(BIN)/mypy
	@$(BIN)/labkit lint notebooks

bench: $(VENV)/.test
	@$(BIN)/python -m benchmarks

clean:
	rm -rf $(VENV)

# A stamp a step, so that a second run installs nothing.
$(VENV)/.python:
	@$(PYTHON) -c 'import sys; sys.exit(0 if sys.version_info >= (3, 11) else "labkit needs Python 3.11 or newer, this is %d.%d: make PYTHON=python3.11 ..." % sys.version_info[:2])'
	@$(PYTHON) -m venv $(VENV) || { echo "python3 -m venv failed: on Debian and Ubuntu, apt-get install python3-venv"; rm -rf $(VENV); exit 1; }
	@touch $@

$(VENV)/.lab: $(VENV)/.python pyproject.toml constraints.txt
	@echo "Installing labkit and its pinned set into $(VENV) (once; a few minutes on a new machine)"
	@$(PIP) install --quiet --constraint constraints.txt --editable '.[labs]'
	@touch $@

$(VENV)/.test: $(VENV)/.lab
	@$(PIP) install --quiet --constraint constraints.txt --editable '.[labs,grade,hub,test]'
	@touch $@
