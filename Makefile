# weft: every command a developer or a newcomer needs. `make crawl` and `make test` set up what they need themselves.
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
READY  := $(VENV)/.ready
PYWB   := .venv-pywb
BENCH  := $(VENV)/.bench
PIP    := pip install --quiet --disable-pip-version-check

# What is shown of pip: a line for every tenth package, and when it installs them.
SAID   := /^Collecting/ { if (++n % 10 == 0) { print "  " n " libraries, now " $$2; fflush() } } \
          /^Installing collected/ { print "  installing " n " libraries …"; fflush() }

.PHONY: help setup crawl check test bench soak docs clean

help:  ## Show what there is.
	@grep -E '^[a-z]+:.*##' Makefile | sed -E 's/:[^#]*## /\t/' | expand -t 10

$(READY): pyproject.toml constraints.txt
	@echo "setting up $(VENV): weft's libraries, those of its tests included, some 900 MB; a minute or three …"
	@$(PYTHON) -m venv $(VENV)
	@{ $(BIN)/pip install --disable-pip-version-check --progress-bar off -c constraints.txt -e '.[dev]' 2>&1; \
	   echo $$? > $(VENV)/pip.status; } | tee $(VENV)/pip.log | awk '$(SAID)'
	@test "$$(cat $(VENV)/pip.status)" = 0 || { tail -20 $(VENV)/pip.log; exit 1; }
	@touch $(READY)

# pywb pins libraries that ours has newer, so the readers that check our archives live in a place of their own.
$(PYWB)/.ready: constraints-pywb.txt
	@echo "setting up $(PYWB) (replay checks) …"
	@$(PYTHON) -m venv $(PYWB)
	@$(PYWB)/bin/$(PIP) -c constraints-pywb.txt pywb wacz
	@touch $@

$(BENCH): $(READY)
	@echo "setting up what the benchmarks compare with …"
	@$(BIN)/$(PIP) -c constraints.txt -e '.[bench]'
	@touch $(BENCH)

# Bytecode too: where PYTHONDONTWRITEBYTECODE is set, as in many containers, each start would compile all sources again.
setup: $(READY)  ## Make .venv with everything in it, and compile the frontier's core once.
	@$(BIN)/python -m compileall -q src
	@$(BIN)/weft doctor --warm --quiet

# No more is compiled for it than it needs.
crawl: $(READY)  ## Crawl a synthetic web on this machine and show what came out.
	@$(BIN)/python -m compileall -q src
	@$(BIN)/weft doctor --warm --part crawl --part testbed --quiet
	@$(BIN)/python examples/first_crawl.py

check: $(READY)  ## Lint, types, import layers.
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .
	@$(BIN)/mypy
	@$(BIN)/lint-imports

test: setup $(PYWB)/.ready  ## Run all tests, and say which were the slowest; `make -j2 test` sets up in less time.
	@$(BIN)/python -m pytest -n 6 --dist loadgroup --durations=20

bench: setup $(BENCH)  ## Compare with the bare loop and with Scrapy; PARTS="workers modern frontier", or all; PARTS=against REV=…
	@$(BIN)/python -m benchmarks $(PARTS)

soak: setup  ## Long runs: the slow versions of the promises; what they print is kept.
	@{ $(BIN)/python -m pytest -s -m soak --durations=20; echo $$? > $(VENV)/soak.status; } \
	   | tee benchmarks/results/soak-$$(date +%Y%m%d-%H%M%S).txt
	@exit "$$(cat $(VENV)/soak.status)"

docs: $(READY)  ## Write the generated pages of docs/reference, and the typed keywords, anew.
	@$(BIN)/python -m weft.cli.reference docs/reference

clean:  ## Remove what make has made.
	@rm -rf $(VENV) $(PYWB) build dist .mypy_cache .ruff_cache .pytest_cache
