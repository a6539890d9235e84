# Two commands on a fresh machine: `make demo` runs the main job, `make test` the tests. Both set up .venv first.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin

.PHONY: demo test certify lint clean

demo: $(VENV)/.demo
	$(BIN)/ptxgen demo

test: $(VENV)/.test
	$(BIN)/python -m pytest -n 2 -q

# Contracts against ptxas: SAMPLE legal statements and as many mutants, others whenever a contract changes.
SAMPLE ?= 30000
certify: $(VENV)/.test
	$(BIN)/ptxgen certify --sample $(SAMPLE) --seed $$($(BIN)/python -c "from ptxgen.reference import digest; print(int(digest()[:6], 16))")

lint: $(VENV)/.dev
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports

$(VENV)/bin/python:
	$(PYTHON) -m venv $(VENV)

$(VENV)/.demo: $(BIN)/python pyproject.toml
	$(BIN)/python -m pip install -q -e .
	touch $@

$(VENV)/.test: $(BIN)/python pyproject.toml
	$(BIN)/python -m pip install -q -e '.[test]'
	touch $@ $(VENV)/.demo

$(VENV)/.dev: $(BIN)/python pyproject.toml
	$(BIN)/python -m pip install -q -e '.[dev]'
	touch $@ $(VENV)/.test $(VENV)/.demo

clean:
	rm -rf $(VENV) build dist *.egg-info
