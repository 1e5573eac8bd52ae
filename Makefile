# The companion book: `make help` lists what there is to run.
PYTHON ?= python3
PROFILE ?= book
BIN := .venv/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check --quiet
export JUPYTER_PREFER_ENV_PATH := 1
# Micro models gain nothing from a second thread and lose much where the other core is busy.
export OMP_NUM_THREADS ?= 1

.DEFAULT_GOAL := help
.PHONY: help book figures lab test test-browser test-library test-notebooks test-gemma clean

help: ## this list
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 14

book: .venv/installed ## install, get the model, run every notebook, build _build/html
	$(BIN)/python -m tools.build_book --profile $(PROFILE)

figures: .venv/installed ## check results/, write results/table_1.csv, rebuild what depends on them
	$(BIN)/accessibility results verify results
	$(BIN)/accessibility results table-1 results
	$(BIN)/python -m tools.build_book --profile $(PROFILE)

lab: .venv/installed ## JupyterLab on the notebooks
	$(BIN)/jupyter lab --notebook-dir=notebooks $(if $(filter 0,$(shell id -u)),--allow-root)

test: book ## everything: style, types, library, notebooks, finished site, JupyterLab
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/python -m tools.chromium
	$(MAKE) --no-print-directory -j2 --output-sync=target test-browser test-library test-notebooks

test-browser:
	$(BIN)/pytest tests/book tests/lab

test-library:
	$(BIN)/pytest -m "not gemma" --ignore=tests/book --ignore=tests/lab

test-notebooks:
	$(BIN)/pytest -q --nbval-lax notebooks

test-gemma: .venv/installed ## the tests on Gemma-3-270M (accepts its terms of use)
	$(BIN)/pytest -m gemma

clean: ## remove what `make book` made; .venv and the model cache stay
	rm -rf _build

.venv/installed: requirements.txt pyproject.toml
	@$(PYTHON) -c 'import sys; v = sys.version_info[:2]; sys.exit(None if (3, 11) <= v <= (3, 13) else f"Python 3.11 to 3.13 is needed and {sys.executable} is {v[0]}.{v[1]}: make PYTHON=/path/to/python3.12")'
	$(PYTHON) -m venv .venv
	@echo "installing into .venv (a few minutes the first time)"
	$(PIP) install -r requirements.txt
	$(PIP) install --no-deps --no-build-isolation -e .
	touch $@
