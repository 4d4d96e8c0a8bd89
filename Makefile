# Every target but help and clean sets up what it needs, once: see scripts/setup.sh.
.DEFAULT_GOAL := help
.PHONY: help setup demo test test-all clean
BIN := .venv/bin

help:  ## what can be made
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/^([a-z-]+):.*## */  make \1\t/' | expand -t 18

setup:  ## install the tools and Python packages that are missing
	@sh scripts/setup.sh

demo: setup  ## watch a small student learn RTL from a small teacher, and see whether it did
	@$(BIN)/rtl-agent demo

test: setup  ## lint, types, layering and all tests that are not slow
	@$(BIN)/ruff check .
	@$(BIN)/mypy
	@$(BIN)/lint-imports
	@$(BIN)/pytest -m "not slow" -n auto --maxprocesses 8

test-all: setup  ## the same with the slow tests, Ray among them
	@$(BIN)/python -c 'import ray' 2>/dev/null || $(BIN)/pip install -qq --disable-pip-version-check -e '.[dev,ray]'
	@$(BIN)/ruff check .
	@$(BIN)/mypy
	@$(BIN)/lint-imports
	@$(BIN)/pytest -n auto --maxprocesses 8

clean:  ## remove everything that set-up and tests left in the checkout
	rm -rf .venv .pytest_cache .mypy_cache .ruff_cache .import_linter_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
