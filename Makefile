# Every target but help and clean sets up what it needs, once: see scripts/setup.sh.
.DEFAULT_GOAL := help
.PHONY: help setup demo real test test-all test-quick docs image image-train lock clean
BIN := .venv/bin
# Two more than there are cores, up to 8: many tests wait for a process or a time limit. A worker that has nothing left
# takes from the others.
WORKERS := $(shell n=$$(nproc 2>/dev/null || echo 1); [ $$n -gt 6 ] && echo 8 || echo $$((n + 2)))
XDIST := -n $(WORKERS) --dist worksteal

help:  ## what can be made
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/^([a-z-]+):.*## */  make \1\t/' | expand -t 18

setup:  ## install the tools and Python packages that are missing
	@sh scripts/setup.sh

demo: setup  ## watch a small student learn RTL from a small teacher, and see whether it did
	@$(BIN)/rtl-agent demo

real: setup  ## fetch a real code model (1.1 GB), evaluate it, teach it for hours in resumable pieces; STEPS=2 for a short try
	@$(BIN)/python scripts/real_model.py run $(if $(STEPS),--steps $(STEPS)) $(if $(MINUTES),--minutes $(MINUTES))

test: setup  ## lint, types, layering and all tests that are not slow
	@sh scripts/setup.sh --browser
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check --quiet .
	@$(BIN)/lint-imports
	@$(BIN)/pytest -m "not slow" $(XDIST) --durations 10

test-quick:  ## in a minute, without EDA tools and torch: lint and the tests that need neither
	@sh scripts/setup.sh --quick
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check --quiet .
	@$(BIN)/pytest -p tests.quick -m "not slow" $(XDIST)

test-all: setup  ## the same with the slow tests, Ray and containers among them
	@sh scripts/setup.sh --page
	@sh scripts/setup.sh --containers
	@$(BIN)/python -c 'import ray' 2>/dev/null || $(BIN)/pip install -qq --disable-pip-version-check -e '.[dev,ray]'
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check --quiet .
	@$(BIN)/lint-imports
	@$(BIN)/pytest $(XDIST) --durations 10

docs: setup  ## the site, in docs/_build/html
	@$(BIN)/python -m sphinx -q -W --keep-going -b html docs docs/_build/html
	@echo "docs/_build/html/index.html"

# BASE is an image that is Debian 12; IMAGE_FLAGS are handed to the build, such as --network host.
ENGINE ?= docker
IMAGE_BUILD = $(ENGINE) build $(if $(BASE),--build-arg BASE=$(BASE)) $(IMAGE_FLAGS)
IMAGE_SIZE = @$(ENGINE) image inspect --format '{{.Size}}' $(1) | awk '{ printf "$(1): %.2f GB\n", $$1 / 1e9 }'

image:  ## the container image rtl-agent:core; ENGINE=podman, BASE=IMAGE, IMAGE_FLAGS=... (docs/containers.md)
	$(IMAGE_BUILD) --target core -t rtl-agent:core .
	$(call IMAGE_SIZE,rtl-agent:core)

image-train:  ## the same with torch, rtl-agent:train
	$(IMAGE_BUILD) --target train -t rtl-agent:train .
	$(call IMAGE_SIZE,rtl-agent:train)

lock: setup  ## write down the versions that are installed now: names and versions only
	@$(BIN)/pip freeze --exclude-editable --exclude setuptools | sed -E 's/\+[a-z0-9.]+$$//' > requirements-dev.lock

clean:  ## remove everything that set-up and tests left in the checkout
	rm -rf docs/_build docs/_written .venv .pytest_cache .mypy_cache .ruff_cache .import_linter_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
