# The two commands of the README: `make run` and `make test`. Both set up .venv first.

# The newest tested Python on the PATH; python3, of any later version, where there is none.
PYTHON ?= $(shell for python in python3.14 python3.13 python3.12 python3.11; do \
  $$python -c 'import ensurepip, venv' 2>/dev/null && echo $$python && exit; done; echo python3)
WHY := $(if $(filter file,$(origin PYTHON)),the newest tested version on the PATH; choose another with make PYTHON=...,as PYTHON requests)
VENV := .venv
BIN := $(VENV)/bin

.PHONY: run test unit-after-pages test-all oldest canary coverage lint types unit docs site linkcheck publish wheel verify bench clean

run: $(VENV)/.installed
	$(BIN)/tunax-lite demo --output results/synthetic --overwrite
	@echo
	@echo "To use tunax-lite in this shell: source $(BIN)/activate"
	@echo "then, for example: tunax-lite run configs/runs/kato_phillips.yaml"

# Types, pages and lint use one core each, the tests two: the tests start after pages and lint, beside the types.
test: $(VENV)/.installed-dev
	@$(MAKE) --no-print-directory --jobs=2 types unit-after-pages

unit-after-pages: docs lint
	@$(MAKE) --no-print-directory unit

lint: $(VENV)/.installed-dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(VENV)/.installed-dev
	$(BIN)/pyright --pythonpath $(BIN)/python

PYTEST = $(BIN)/pytest -n 2 --dist worksteal
unit: $(VENV)/.installed-dev
	$(PYTEST) tests

# What `make test` leaves out and a change must pass before it lands: long runs, presets, kills, notebooks, wheels.
test-all: $(VENV)/.installed-dev
	$(PYTEST) -m "long and not study" tests

# `make run` and `make test` on the oldest supported pair of Python and JAX, and an import of every module.
OLDEST_PYTHON ?= python3.11
OLDEST_JAX := 0.10.2
IMPORT_ALL := import importlib, pkgutil, tunax_lite as t; \
  [importlib.import_module(m.name) for m in pkgutil.walk_packages(t.__path__, "tunax_lite.")]
oldest:
	$(MAKE) .venv-oldest/.installed-dev VENV=.venv-oldest PYTHON=$(OLDEST_PYTHON)
	.venv-oldest/bin/python -m pip install --quiet jax==$(OLDEST_JAX) jaxlib==$(OLDEST_JAX)
	.venv-oldest/bin/python -W error -c '$(IMPORT_ALL)'
	$(MAKE) run test VENV=.venv-oldest

# The tests on previews of JAX's next version; PIP_EXTRA_INDEX_URL names an index of nightly builds.
canary:
	$(MAKE) .venv-canary/.installed-dev VENV=.venv-canary
	.venv-canary/bin/python -m pip install --quiet --pre --upgrade jax jaxlib
	.venv-canary/bin/python -m pip list | grep -i '^jax'
	$(MAKE) unit VENV=.venv-canary

# Share of the package's lines that `make test` and `make test-all` run; fails below the limit in pyproject.toml.
coverage: $(VENV)/.installed-dev
	$(PYTEST) -m "not study" --cov --cov-report=term:skip-covered tests

# With the figures of the gallery that `make site` left, if any.
docs: $(VENV)/.installed-dev
	$(BIN)/sphinx-build -W --keep-going -q -D plot_gallery=0 -b html docs docs/_build/html

# Needs a network: follows the links to other sites.
linkcheck: $(VENV)/.installed-dev
	$(BIN)/sphinx-build -q -D plot_gallery=0 -b linkcheck docs docs/_build/linkcheck

# Executes the examples of the gallery that changed.
site: $(VENV)/.installed-dev
	$(BIN)/sphinx-build -W --keep-going -q -b html docs docs/_build/html

# What `make site` built, as the only commit of the branch gh-pages of the remote repository.
SITE := docs/_build/html
publish:
	touch $(SITE)/.nojekyll
	rm -f $(SITE)/../index-of-site
	@export GIT_INDEX_FILE="$(CURDIR)/$(SITE)/../index-of-site" && \
	  git --work-tree=$(SITE) add --all --force . && tree=$$(git write-tree) && \
	  commit=$$(git -c user.name=pages -c user.email=pages@localhost commit-tree $$tree \
	    -m "Site of $$(git rev-parse --short HEAD)") && \
	  git push --force origin $$commit:refs/heads/gh-pages

# The environment has what builds it: nothing is downloaded.
wheel: $(VENV)/.installed-dev
	$(BIN)/python -m build --wheel --no-isolation --outdir dist

bench: $(VENV)/.installed-dev
	$(BIN)/python -m benchmarks

verify: $(VENV)/.installed-dev
	$(BIN)/python -m pip install --quiet --editable '.[peers]'
	$(BIN)/python -m benchmarks --only reference
	$(PYTEST) -m study tests

# The interpreter is checked first, for a clear message instead of a failure in the middle.
$(VENV)/bin/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo "tunax_lite needs Python 3.11 or newer; choose one with make PYTHON=python3.12 ..." >&2; exit 1; }
	@echo "$(VENV) uses $$($(PYTHON) --version) ($$(command -v $(PYTHON))): $(WHY)"
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade pip

$(VENV)/.installed: $(VENV)/bin/python pyproject.toml
	$(BIN)/python -m pip install --quiet --editable .
	@touch $@

$(VENV)/.installed-dev: $(VENV)/bin/python pyproject.toml
	$(BIN)/python -m pip install --quiet --editable '.[dev,docs]'
	@touch $@ $(VENV)/.installed

clean:
	rm -rf $(VENV) .venv-oldest .venv-canary .jax_cache .pytest_cache .coverage* .ruff_cache .hypothesis build dist docs/_build docs/gallery results
