# Every target but help and clean sets up what it needs, once: see scripts/setup.sh.
.DEFAULT_GOAL := help
.PHONY: help setup demo test test-all clean
BIN := .venv/bin
# One more than there are cores, up to 8: some tests wait for a time limit.
WORKERS := $(shell n=$$(nproc 2>/dev/null || echo 1); [ $$n -gt 7 ] && echo 8 || echo $$((n + 1)))

help:  ## what can be made
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/^([a-z-]+):.*## */  make \1\t/' | expand -t 18

setup:  ## install the tools and Python packages that are missing
	@sh scripts/setup.sh

demo: setup  ## watch a small student learn RTL from a small teacher, and see whether it did
	@$(BIN)/rtl-agent demo

test: setup  ## lint, types, layering and all tests that are not slow
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check --quiet .
	@$(BIN)/mypy
	@$(BIN)/lint-imports
	@$(BIN)/pytest -m "not slow" -n $(WORKERS) --durations 10

test-all: setup  ## the same with the slow tests, Ray among them
	@$(BIN)/python -c 'import ray' 2>/dev/null || $(BIN)/pip install -qq --disable-pip-version-check -e '.[dev,ray]'
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check --quiet .
	@$(BIN)/mypy
	@$(BIN)/lint-imports
	@$(BIN)/pytest -n $(WORKERS) --durations 10

clean:  ## remove everything that set-up and tests left in the checkout
	rm -rf .venv .pytest_cache .mypy_cache .ruff_cache .import_linter_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
