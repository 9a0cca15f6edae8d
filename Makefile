# Needs python3 (3.11 or newer) with venv, and make. Every target sets up .venv by itself.

PYTHON ?= python3
WORKERS ?= 2

VENV := .venv
BIN := $(VENV)/bin
PIP_INSTALL := $(BIN)/python -m pip install --quiet --quiet --editable

export PIP_DISABLE_PIP_VERSION_CHECK := 1

# One thread per test worker, or the workers fight over the cores.
ONE_THREAD := OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 MKL_NUM_THREADS=1 \
	VECLIB_MAXIMUM_THREADS=1 NUMEXPR_NUM_THREADS=1
PYTEST := $(ONE_THREAD) $(BIN)/python -m pytest -n $(WORKERS)

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.NOTPARALLEL:
.PHONY: help demo test nightly lint format bench clean

help: ## Show this list
	@grep -E '^[a-z]+:.*## ' $(firstword $(MAKEFILE_LIST)) | sed -E 's/^([a-z]+):.*## /\1\t/' | \
		while IFS="$$(printf '\t')" read -r name text; do printf '  make %-8s %s\n' "$$name" "$$text"; done

demo: $(VENV)/.installed-cli ## Select variables on a small data set
	$(BIN)/nablasso demo

test: lint ## Check style and types, run the quick tests
	$(PYTEST) -m "not slow"

nightly: lint ## As test, with the slow tests and coverage
	$(PYTEST) --cov --cov-report=term

lint: $(VENV)/.installed-test ## Check style and types
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

format: $(VENV)/.installed-test ## Rewrite the code in the project's style
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

bench: $(VENV)/.installed-bench ## Compare the solvers
	$(BIN)/python -m benchmarks.solvers.run

clean: ## Remove everything that these targets made
	rm -rf $(VENV) build dist src/*.egg-info .coverage .coverage.* htmlcov
	rm -rf .hypothesis .mypy_cache .pytest_cache .ruff_cache
	find src tests benchmarks examples docs -name __pycache__ -type d -prune \
		-exec rm -rf {} + 2>/dev/null || true

# A stamp records each finished set-up step; a change of pyproject.toml asks for it again.

$(VENV)/.created:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { \
		echo "nablasso needs Python 3.11 or newer; got $$($(PYTHON) --version 2>&1)." \
		"Name another one: make PYTHON=python3.12 ..." >&2; exit 1; }
	@echo "Setting up $(VENV)"
	@$(PYTHON) -m venv --clear $(VENV)
	@touch $@

$(VENV)/.installed-cli: pyproject.toml $(VENV)/.created
	@echo "Installing nablasso with its command"
	@$(PIP_INSTALL) '.[cli]'
	@touch $@

$(VENV)/.installed-test: pyproject.toml $(VENV)/.created
	@echo "Installing nablasso and its test tools"
	@$(PIP_INSTALL) '.[test,cli]'
	@touch $@

$(VENV)/.installed-bench: pyproject.toml $(VENV)/.created
	@echo "Installing nablasso and its benchmark tools"
	@$(PIP_INSTALL) '.[bench]'
	@touch $@
