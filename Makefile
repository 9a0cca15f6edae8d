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
.PHONY: help demo test nightly matrix browser lint format bench results docs wheel clean

help: ## Show this list
	@grep -E '^[a-z]+:.*## ' $(firstword $(MAKEFILE_LIST)) | sed -E 's/^([a-z]+):.*## /\1\t/' | \
		while IFS="$$(printf '\t')" read -r name text; do printf '  make %-8s %s\n' "$$name" "$$text"; done

demo: ## Select variables on a small data set and write a report
	@begun=$$(date +%s); \
	$(MAKE) --no-print-directory $(VENV)/.installed-cli && \
	$(BIN)/nablasso demo --report demo-report.html && \
	echo && echo "make demo took $$(( $$(date +%s) - begun )) seconds, installation included;" \
		"open demo-report.html in a browser."

test: lint ## Check style and types, run the quick tests
	$(PYTEST) -m "not slow"

nightly: $(VENV)/.installed-interop lint ## As test, with the slow tests and coverage
	$(PYTEST) --cov --cov-report=term

matrix: ## The quick tests at the oldest and newest versions, on 1 and 2 threads, on two processors
	@WORKERS=$(WORKERS) $(PYTHON) .ci/matrix.py $(TESTS)

browser: $(VENV)/.installed-browser ## Test the report in a real browser
	@{ { command -v chromium || command -v chromium-browser || command -v google-chrome; } && \
		command -v chromedriver; } >/dev/null || { \
		echo "Installing Chromium and its driver"; \
		apt-get update -qq && apt-get install -qq -y chromium chromium-driver >/dev/null; } || { \
		echo "make browser needs Chromium and chromedriver; install them (on Debian as root:" \
			"apt-get install chromium chromium-driver) and try again." >&2; exit 1; }
	NABLASSO_BROWSER=1 $(ONE_THREAD) $(BIN)/python -m pytest tests/system/browser

lint: $(VENV)/.installed-test ## Check style and types
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

format: $(VENV)/.installed-test ## Rewrite the code in the project's style
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

bench: $(VENV)/.installed-bench ## Compare the solvers
	$(BIN)/python -m benchmarks.solvers.run

results: $(VENV)/.installed-bench ## Make pages, figures and the README's results from stored rows
	$(BIN)/python -m benchmarks.pages.results
	$(BIN)/python -m benchmarks.pages.readme

# Examples that did not change since the last build are not run again.
docs: $(VENV)/.installed-docs ## Build the documentation; a warning is an error
	$(ONE_THREAD) $(BIN)/python -m sphinx -b html -W --keep-going --quiet -j $(WORKERS) \
		-d docs/_build/doctrees docs docs/_build/html
	@echo "The documentation is in docs/_build/html/index.html"

wheel: $(VENV)/.installed-wheel ## Build the distributions, check them, run the README in an empty environment
	@$(BIN)/python .ci/wheel.py $(TAG)

clean: ## Remove everything that these targets made
	rm -rf $(VENV) $(VENV)-oldest $(VENV)-newest build dist src/*.egg-info .coverage .coverage.* htmlcov demo-report.html
	rm -rf docs/_build docs/auto_examples docs/backreferences docs/generated
	rm -f docs/sg_execution_times.rst
	rm -rf .hypothesis .mypy_cache .pytest_cache .ruff_cache
	find src tests benchmarks experiments examples docs -name __pycache__ -type d -prune \
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

$(VENV)/.installed-docs: pyproject.toml $(VENV)/.created
	@echo "Installing nablasso and its documentation tools"
	@$(PIP_INSTALL) '.[docs]'
	@touch $@

$(VENV)/.installed-interop: pyproject.toml $(VENV)/.created
	@echo "Installing what only make nightly tests with"
	@$(PIP_INSTALL) '.[test,cli,interop]'
	@touch $@

$(VENV)/.installed-browser: pyproject.toml $(VENV)/.created
	@echo "Installing nablasso and what drives a browser"
	@$(PIP_INSTALL) '.[browser]'
	@touch $@

$(VENV)/.installed-bench: pyproject.toml $(VENV)/.created
	@echo "Installing nablasso and its benchmark tools"
	@$(PIP_INSTALL) '.[bench]'
	@touch $@

$(VENV)/.installed-wheel: pyproject.toml $(VENV)/.created
	@echo "Installing what builds and checks distributions"
	@$(PIP_INSTALL) '.[wheel]'
	@touch $@
