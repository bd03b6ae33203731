# The two commands of the README: `make run` and `make test`. Both set up .venv first.

# The newest supported Python that runs here.
PYTHON ?= $(shell for python in python3.13 python3.12 python3.11; do \
  $$python -c 'import ensurepip, venv' 2>/dev/null && echo $$python && exit; done; echo python3)
VENV := .venv
BIN := $(VENV)/bin

# `unit` runs the notebooks too: tests/test_notebooks.py.
.PHONY: run test test-all oldest canary coverage lint types unit docs site linkcheck publish wheel verify bench hostile clean

run: $(VENV)/.installed
	$(BIN)/tunax-lite demo --output results/synthetic --overwrite
	@echo
	@echo "To use tunax-lite in this shell: source $(BIN)/activate"
	@echo "then, for example: tunax-lite run configs/runs/kato_phillips.yaml"

# Side by side, because the checkers of style, types and pages each use one core.
test: $(VENV)/.installed-dev
	@$(MAKE) --no-print-directory --jobs=4 lint types unit docs

lint: $(VENV)/.installed-dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(VENV)/.installed-dev
	$(BIN)/pyright

unit: $(VENV)/.installed-dev
	$(BIN)/pytest -n 2 --dist worksteal tests

# With the long ones.
test-all: lint types docs
	$(BIN)/pytest -n 2 --dist worksteal -m "not study" tests

# The column and its gradients on the oldest pair of Python and JAX that is supported.
ESSENTIALS := tests/column tests/numerics tests/runtime/test_configure.py tests/runtime/test_recompilation.py
OLDEST_PYTHON ?= python3.11
OLDEST_JAX := 0.10.2
oldest:
	$(OLDEST_PYTHON) -m venv .venv-oldest
	.venv-oldest/bin/python -m pip install --quiet --upgrade pip
	.venv-oldest/bin/python -m pip install --quiet --editable '.[dev]' jax==$(OLDEST_JAX) jaxlib==$(OLDEST_JAX)
	.venv-oldest/bin/pytest -n 2 --dist worksteal $(ESSENTIALS)

# The same on JAX's next version, of which pip takes previews; PIP_EXTRA_INDEX_URL names an index of nightly ones.
canary:
	$(PYTHON) -m venv .venv-canary
	.venv-canary/bin/python -m pip install --quiet --upgrade pip
	.venv-canary/bin/python -m pip install --quiet --editable '.[dev]'
	.venv-canary/bin/python -m pip install --quiet --pre --upgrade jax jaxlib
	.venv-canary/bin/python -m pip list | grep -i '^jax'
	.venv-canary/bin/pytest -n 2 --dist worksteal $(ESSENTIALS)

# Which lines of the package the tests run: fails below what pyproject.toml says.
coverage: $(VENV)/.installed-dev
	$(BIN)/pytest -n 2 --dist worksteal --cov --cov-report=term:skip-covered tests

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

hostile: $(VENV)/.installed-dev
	$(BIN)/python -m tests.hostile --number 500 --seed 1

verify: $(VENV)/.installed-dev
	$(BIN)/python -m pip install --quiet --editable '.[peers]'
	$(BIN)/python -m benchmarks --only reference
	$(BIN)/pytest -n 2 --dist worksteal -m study tests

# The checks of the interpreter come first: a clear message instead of a failure in the middle.
$(VENV)/bin/python:
	@$(PYTHON) -c 'import sys; sys.exit(not (3, 11) <= sys.version_info[:2] <= (3, 13))' || \
	  { echo "tunax_lite needs Python 3.11 to 3.13; name one with: make PYTHON=python3.12 ..." >&2; exit 1; }
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
