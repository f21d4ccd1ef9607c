# Every target sets up what it needs: a fresh clone and `make demo` or `make test` is all it takes.
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
READY  := $(VENV)/.ready

.PHONY: demo test test-slow check format bench-speed calibration-study faults fuzz lock sbom rivals clean

$(READY): pyproject.toml benchmarks/pyproject.toml constraints.txt
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet -c constraints.txt torch
	$(BIN)/python -m pip install --quiet -c constraints.txt -e '.[dev,baselines,design,postgres]' -e './benchmarks[rivals]'
	touch $(READY)

demo: $(READY)  ## fit the bundled motorcycle data and write a report
	$(BIN)/genbayes demo --report demo-report.html

test: check  ## everything but the slow statistical suites
	OMP_NUM_THREADS=1 $(BIN)/python -m pytest -n auto --dist loadscope  # workers share the cores

test-slow: $(READY)  ## the statistical suites, minutes to an hour
	$(BIN)/python -m pytest -m slow

check: $(READY)  ## format, lint and types
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	-$(BIN)/python tools/house.py  # how easy the source is to walk through; printed, never a gate

format: $(READY)
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

REPETITIONS ?= 10
# BASE=commit or BASE_DIR=worktree: against another commit; with UNTOUCHED=network or auto also the accuracy on formulas
# that nothing was chosen on
bench-speed: $(READY)  ## the speed and accuracy targets, about an hour
ifneq ($(BASE)$(BASE_DIR),)
	$(BIN)/python tools/against.py $(if $(BASE_DIR),--base-dir $(BASE_DIR),--base $(BASE)) --repetitions $(REPETITIONS) $(if $(UNTOUCHED),--untouched $(UNTOUCHED))
else
	$(BIN)/python -m genbayes_bench.studies speed --plot bench-speed.png
endif

RIVALS := .rivals
rivals: $(RIVALS)/.ready  ## sbi and AutoGluon in an environment of their own, 2.3 GB; the benchmarks call them

$(RIVALS)/.ready: benchmarks/rivals.txt
	$(PYTHON) -m venv $(RIVALS)
	$(RIVALS)/bin/python -m pip install --quiet -r benchmarks/rivals.txt
	touch $(RIVALS)/.ready

calibration-study: $(READY)  ## how often intervals hold, by model and size, some minutes; DRAWS=25 for the targets
	$(BIN)/python -m genbayes_bench.studies calibration $(PARTS) $(if $(DRAWS),--draws $(DRAWS))

faults: $(READY)  ## storms over campaigns on SQLite and PostgreSQL, some minutes: nothing acknowledged is lost
	$(BIN)/python tools/faults.py $(if $(TRIALS),--trials $(TRIALS)) $(if $(ONLY),--only $(ONLY))

MINUTES ?= 5
fuzz: $(READY)  ## damaged model files of every class, five minutes; N=200000 until that many, resumable
	$(BIN)/python tools/fuzz.py run $(if $(N),--cases $(N),--minutes $(MINUTES))

lock: $(READY)  ## requirements.lock: every package of the tested set, pinned
	$(BIN)/python tools/packages.py lock

sbom: $(READY)  ## sbom.cdx.json: the bill of materials of a release, CycloneDX
	$(BIN)/python tools/packages.py sbom

clean:
	rm -rf $(VENV) $(RIVALS) build dist .pytest_cache .mypy_cache .ruff_cache demo-report.html
