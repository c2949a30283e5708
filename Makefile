# Two commands: `make demo` shows what tabveil does, `make test` checks that it does it right.
# Both set up everything they need in .venv and are fast the second time.

PYTHON ?= python3
PEER_PYTHON ?= python3.11
BIN := .venv/bin
INSTALL := python -m pip install -qq --disable-pip-version-check
PIP := $(BIN)/$(INSTALL) -c constraints.txt
# The lock holds for one Python on one kind of machine; others get the tested versions, without digests.
LOCKED := $(BIN)/python -c 'import platform as p, sys; here = (sys.version_info[:2], p.system(), p.machine(), p.libc_ver()[0]); sys.exit(here != ((3, 11), "Linux", "x86_64", "glibc"))'
SOURCES := src tests benchmarks examples experiments docs_build .ci

.PHONY: demo test docs bench bench-peers bench-generators bench-million bench-pages experiments pages lint format lock clean
.DELETE_ON_ERROR:

demo: .venv/core.stamp
	@$(BIN)/tabveil demo

test: lint
	@$(BIN)/python -m pytest -q -n auto

lint: .venv/all.stamp
	@$(BIN)/ruff check $(SOURCES)
	@$(BIN)/ruff format --check $(SOURCES)
	@$(BIN)/mypy

format: .venv/all.stamp
	@$(BIN)/ruff check --fix $(SOURCES)
	@$(BIN)/ruff format $(SOURCES)

docs: .venv/all.stamp
	@NO_MKDOCS_2_WARNING=1 $(BIN)/python -m mkdocs build --strict --quiet
	@echo "Open site/index.html"

bench: .venv/all.stamp
	@$(BIN)/python benchmarks/run.py

# The peers live in environments of their own: what they depend on does not go with what tabveil depends on.
bench-peers: .venv/all.stamp .bench/anonymeter.stamp
	@$(BIN)/python benchmarks/beside_peers.py

bench-generators: .venv/all.stamp
	@$(BIN)/python benchmarks/generators.py

bench-million: .venv/all.stamp
	@$(BIN)/python benchmarks/attacks.py page

bench-pages: .venv/all.stamp
	@$(BIN)/python benchmarks/pages.py

# The papers' experiments: hours on two cores; what is done is kept. Some want a GPU, see experiments/README.md.
STUDIES := $(filter-out papers,$(basename $(notdir $(wildcard experiments/*.yaml))))
experiments: .venv/all.stamp
	@for study in $(STUDIES); do echo "$$study"; $(BIN)/tabveil benchmark run experiments/$$study.yaml --store .bench/studies/$$study --with experiments/people.py || true; done
	@$(BIN)/python experiments/pages.py .bench/studies

# After a change of a docstring, an option or a default: what docs/ holds that is made from the program.
pages: .venv/all.stamp
	@$(BIN)/python docs_build/checked_in.py

# After a change of pyproject.toml or constraints.txt: what pip finds for both, in an empty environment.
lock:
	@rm -rf .lock
	@$(PEER_PYTHON) -m venv .lock
	@.lock/bin/$(INSTALL) --dry-run --ignore-installed --report .lock/report.json -c constraints.txt torch '.[all,dev,docs]' hatchling editables
	@.lock/bin/python .ci/lock.py < .lock/report.json > .lock/requirements.lock
	@mv .lock/requirements.lock requirements.lock
	@rm -rf .lock

clean:
	rm -rf .venv .mypy_cache .ruff_cache .pytest_cache .hypothesis dist site
	find src tests -name __pycache__ -type d -prune -exec rm -rf {} +

.venv/made.stamp:
	@$(PYTHON) -c 'import sys; v = sys.version_info[:2]; sys.exit(None if (3, 11) <= v < (3, 14) else "tabveil needs Python 3.11, 3.12 or 3.13; this is %d.%d. Try: make PYTHON=python3.11" % v)'
	@echo "Making a virtual environment in .venv"
	@$(PYTHON) -m venv .venv
	@touch $@

# Installing everything installs the core too, so one stamp answers for both.
.venv/core.stamp: pyproject.toml constraints.txt | .venv/made.stamp
	@echo "Installing tabveil (once; about a minute)"
	@$(PIP) -e .
	@touch $@

# torch alone and before tabveil: the packages that depend on it must find the version that was tested. With the
# lock, what torch depends on is there before it, and the tools that build tabveil are, too.
.venv/all.stamp: pyproject.toml constraints.txt requirements.lock | .venv/made.stamp
	@echo "Installing tabveil with everything for its tests (once; a few minutes, 2 GB)"
	@if $(LOCKED); then $(BIN)/$(INSTALL) --require-hashes --no-deps -r requirements.lock; fi
	@$(PIP) torch==2.13.0
	@if $(LOCKED); then $(PIP) --no-deps --no-build-isolation -e .; else $(PIP) -e '.[all,dev,docs]'; fi
	@touch .venv/core.stamp $@

.bench/anonymeter.stamp: benchmarks/peers/requirements.txt
	@echo "Installing Anonymeter in .bench (once; about a minute)"
	@$(PEER_PYTHON) -m venv --clear .bench/anonymeter
	@.bench/anonymeter/bin/python -m pip install -qq --disable-pip-version-check -r $<
	@touch $@
