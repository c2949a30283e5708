# Two commands: `make demo` shows what tabveil does, `make test` checks that it does it right.
# Both set up everything they need in .venv and are fast the second time.

PYTHON ?= python3
PEER_PYTHON ?= python3.11
BIN := .venv/bin
INSTALL := python -m pip install -qq --disable-pip-version-check
PIP := $(BIN)/$(INSTALL) -c constraints.txt
# The lock holds for one kind of machine; others get the tested versions, without digests.
LOCKED := $(BIN)/python -c 'import platform as p, sys; sys.exit((p.system(), p.machine(), p.libc_ver()[0]) != ("Linux", "x86_64", "glibc"))'
FROM_LOCK := $(BIN)/$(INSTALL) --require-hashes --no-deps -r
SOURCES := src tests benchmarks examples experiments docs_build action .ci

# Tests start hundreds of processes: without bytecode beside the source, each would compile all it imports anew.
unexport PYTHONDONTWRITEBYTECODE

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
STUDIES := $(filter-out papers,$(patsubst experiments/%.yaml,%,$(wildcard experiments/*.yaml experiments/hybrid/*.yaml)))
experiments: .venv/all.stamp
	@for study in $(STUDIES); do echo "$$study"; $(BIN)/tabveil benchmark run experiments/$$study.yaml --store .bench/studies/$$study --with experiments/people.py || true; done
	@$(BIN)/python experiments/pages.py .bench/studies

# After a change of a docstring, an option or a default: what docs/ holds that is made from the program.
pages: .venv/all.stamp
	@$(BIN)/python docs_build/checked_in.py

# After a change of pyproject.toml or constraints.txt: what pip finds for both, in empty environments. Of torch
# pip may find a build for the CPU beside the public one: both are asked for.
lock:
	@rm -rf .lock
	@for version in 3.11 3.12 3.13; do \
		python$$version -m venv .lock/$$version && \
		find() { .lock/$$version/bin/$(INSTALL) --dry-run --ignore-installed --report .lock/$$1-$$version$$2.json $$3 -c constraints.txt $$4; } && \
		find core "" "" ". hatchling editables" && \
		find all "" "" "torch .[all,dev,docs] hatchling editables" && \
		find torch -here --no-deps torch==2.13.0 && \
		find torch -public --no-deps torch===2.13.0 || exit 1; \
	done
	@python3 .ci/lock.py .lock > .lock/requirements.lock
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
.venv/core.stamp: pyproject.toml constraints.txt requirements.lock | .venv/made.stamp
	@echo "Installing tabveil (once; about a minute)"
	@if $(LOCKED); then \
		sed '/^# all/,$$d' requirements.lock > .venv/core.lock && \
		$(FROM_LOCK) .venv/core.lock && $(PIP) --no-deps --no-build-isolation -e .; \
	else $(PIP) -e .; fi
	@touch $@

# torch alone and before tabveil: the packages that depend on it must find the version that was tested. With the
# lock, what torch depends on is there before it, and the tools that build tabveil are, too; what a build for
# GPUs needs beside is found after it.
.venv/all.stamp: pyproject.toml constraints.txt requirements.lock | .venv/made.stamp
	@echo "Installing tabveil with everything for its tests (once; a few minutes, 2 GB)"
	@if $(LOCKED); then \
		sed '/^# torch/,$$d' requirements.lock > .venv/all.lock && $(FROM_LOCK) .venv/all.lock && \
		$(PIP) --dry-run --no-deps --ignore-installed --report .venv/torch.json torch==2.13.0 && \
		$(BIN)/python .ci/lock.py --torch .venv/torch.json > .venv/torch.lock && $(FROM_LOCK) .venv/torch.lock; \
	fi
	@$(PIP) torch==2.13.0
	@if $(LOCKED); then $(PIP) --no-deps --no-build-isolation -e .; else $(PIP) -e '.[all,dev,docs]'; fi
	@touch .venv/core.stamp $@

.bench/anonymeter.stamp: benchmarks/peers/requirements.txt
	@echo "Installing Anonymeter in .bench (once; about a minute)"
	@$(PEER_PYTHON) -m venv --clear .bench/anonymeter
	@.bench/anonymeter/bin/python -m pip install -qq --disable-pip-version-check -r $<
	@touch $@
