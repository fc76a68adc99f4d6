# Every target sets up what it needs and reuses what is there. How long each takes: CONTRIBUTING.md.
#   make test          all tests, those with the real engine included
#   make test-fast     the tests without the engine, and without those that install or go through many inputs
#   make test-all      all tests, with the whole of every suite of which the others take a sample
#   make demo          a real prefill/decode pair on this machine's CPU
#   make demo-control  the same with blocks restored in reversed order: must say "identical: no"
#   make lint          ruff and mypy
#   make mutate        which changes of the code no test notices: 300 of them, or COUNT=N, drawn by SEED=N (hours)
#   make setup         only the environment
#   make docs          the documentation as a site in build/site, with nothing dead in it
#   make playground    the checker as a page in build/site/playground (after make docs, which empties build/site)
#   make site          both
#   make playground-test  what that page says, in Node and in Chromium, against the command
#   make man           the man page and all other generated pages
#
# Tests run in two ways. Those without an engine are spread over JOBS processes (pytest-xdist; JOBS=0: none but pytest's
# own); they take their ports from tests/ports.py, so that no two meet. Those with an engine run one after the other in
# one process, which imports vLLM once and forks every engine: engines at the same time would wait for each other's
# cores, and a fork has only the thread that made it, while xdist's processes have several. `make test` runs both at the
# same time, because an engine keeps one core busy, and prints what the engines' tests said last. Both run to their end,
# whatever fails. PD_TEST_SEED=N takes other samples; which ones a run took, and in which files its time went, it prints.

PYTHON ?= python3
CORES  := $(shell getconf _NPROCESSORS_ONLN 2> /dev/null || echo 2)
BESIDE := $(or $(JOBS),$(shell echo $$(($(CORES) > 2 ? $(CORES) - 1 : 1))))
JOBS   ?= 2
COUNT  ?= 300
SEED   ?= 1
LEAST  ?= 0
ENGINE := 0.32.0
VENV   := .venv
RUN    := $(VENV)/bin/python
SPREAD  = -n $(JOBS) --dist worksteal

.PHONY: setup python test test-fast test-all mutate lint demo demo-control docs man playground playground-test site

setup: python
	@$(PYTHON) scripts/setup_engine.py $(ENGINE) --venv $(VENV) > /dev/null

python:
	@command -v $(PYTHON) > /dev/null || { \
	  echo "make: there is no $(PYTHON) here; install Python 3.11 to 3.13 or name yours: make PYTHON=/path/to/python3 ..." >&2; exit 1; }
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { \
	  echo "make: $$($(PYTHON) --version 2>&1) is too old for vLLM's CPU builds; name a newer one: make PYTHON=python3.11 ..." >&2; exit 1; }

test: JOBS := $(BESIDE)
test: setup
	@mkdir -p build; status=0; \
	$(RUN) -m pytest -m engine > build/engine-tests.log 2>&1 & engines=$$!; \
	trap 'kill $$engines; exit 130' INT TERM; \
	$(RUN) -m pytest -m "not engine" $(SPREAD) || status=$$?; \
	wait $$engines || status=$$?; \
	cat build/engine-tests.log; \
	exit $$status

test-fast: setup
	$(RUN) -m pytest -m "not engine and not slow" $(SPREAD)

test-all: export PD_TEST_SAMPLE = all
test-all: test

# Coverage is for this alone, and kept out of the environment.
mutate: setup
	@[ -d build/mutants/tools ] || $(RUN) -m pip install -q --target build/mutants/tools coverage
	PYTHONPATH=$(CURDIR)/build/mutants/tools $(RUN) scripts/mutate.py --count $(COUNT) --seed $(SEED) --least $(LEAST) --jobs $(JOBS)

lint: setup
	$(RUN) -m ruff check .
	$(RUN) -m ruff format --check .
	$(RUN) -m mypy
	$(RUN) -m mypy --strict $(wildcard scripts/*.py) bench/step_counter.py bench/reversed_restore.py

demo: setup
	@$(RUN) scripts/demo.py

demo-control: setup
	@$(RUN) scripts/demo.py --control

# An environment of its own: the site needs nothing of the engine's, and brings nothing into it.
docs:
	@[ -x .venv-docs/bin/mkdocs ] || { $(PYTHON) -m venv .venv-docs && .venv-docs/bin/pip install -q '.[docs]'; }
	@.venv-docs/bin/python scripts/build_docs.py
	@.venv-docs/bin/mkdocs build
	@$(PYTHON) scripts/check_site.py
	@echo build/site/index.html

man:
	@[ -x .venv-docs/bin/python ] || { $(PYTHON) -m venv .venv-docs && .venv-docs/bin/pip install -q '.[docs]'; }
	@.venv-docs/bin/python scripts/build_docs.py
	@echo docs/man/pd-launch.1

# Parts are fetched once, by their hashes (playground/parts.json).
playground:
	@$(PYTHON) scripts/build_playground.py
	@echo 'to use it, run: python3 -m http.server --directory build/site 8000, and open http://localhost:8000/playground/'

site: docs
	@$(PYTHON) scripts/build_playground.py > /dev/null
	@$(PYTHON) scripts/check_site.py
	@echo 'to see it, run: python3 -m http.server --directory build/site 8000, and open http://localhost:8000/'

# Needs node; Chromium as chromium on PATH or in PD_CHROMIUM.
playground-test: setup playground
	cd tests/playground && npm install --no-audit --no-fund
	PD_PLAYGROUND=$(CURDIR)/build/site/playground $(RUN) -m pytest tests/playground
