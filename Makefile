# make demo   see what pellucid says about a real training script
# make test   everything that has to hold: lint, types, tests, every supported Python
# make bench  the numbers that the documentation claims
# make dist   sdist and wheel, the wheel tried in a fresh environment

PYTHON ?= $(firstword $(wildcard $(HOME)/.pyenv/versions/3.11.*/bin/python) python3)
TORCH ?= torch==2.13.0
OTHER_PYTHONS ?= $(foreach v,3.10 3.12 3.13,$(firstword $(wildcard $(HOME)/.pyenv/versions/$(v).*/bin/python) $(shell command -v python$(v) 2>/dev/null)))
VENV := .venv
BIN := $(VENV)/bin
NATIVE := $(shell find csrc src/pellucid/capture/bridge -type f) CMakeLists.txt

.PHONY: demo test lint format unit pythons dist bench clean

demo: $(VENV)/.installed
	$(BIN)/pellucid run -o demo.pellucid examples/train_transformer.py
	$(BIN)/pellucid top demo.pellucid --by module
	$(BIN)/pellucid top demo.pellucid --by line
	$(BIN)/pellucid run -o demo_compiled.pellucid examples/train_compiled.py
	$(BIN)/pellucid top demo_compiled.pellucid --by kernel
	$(BIN)/pellucid info demo_compiled.pellucid
	@echo
	@echo "Go on with: $(BIN)/pellucid tree demo.pellucid, or demo_compiled.pellucid"

test: lint unit pythons dist

lint: $(VENV)/.installed
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/clang-format --dry-run --Werror $(shell find csrc src benchmarks tests -name '*.cpp' -o -name '*.c' -o -name '*.h')

format: $(VENV)/.installed
	$(BIN)/ruff check --fix
	$(BIN)/ruff format
	$(BIN)/clang-format -i $(shell find csrc src benchmarks tests -name '*.cpp' -o -name '*.c' -o -name '*.h')

unit: $(VENV)/.installed
	$(BIN)/pytest

# The interpreters that the machine has beside the main one; what needs torch runs on that one only.
pythons: $(VENV)/.installed
	@test $(words $(OTHER_PYTHONS)) -eq 3 || { \
	  echo "!! left out: some of Python 3.10, 3.12, 3.13 are not here (found: $(OTHER_PYTHONS))"; \
	  test -z "$$CI"; }
	for python in $(OTHER_PYTHONS); do tests/on_python "$$python" || exit 1; done

dist: $(VENV)/.installed
	rm -rf dist
	$(BIN)/python -m build --outdir dist .
	tests/smoke_wheel "$(PYTHON)" dist/*.whl

bench: $(VENV)/.installed
	$(BIN)/python benchmarks/overhead.py

clean:
	rm -rf $(VENV) .venvs build dist

$(VENV)/.installed: pyproject.toml $(NATIVE)
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -c "import torch" 2>/dev/null || $(BIN)/pip install -q $(TORCH) numpy
	$(BIN)/pip install -q "scikit-build-core>=0.11" "nanobind>=2.7" cmake ninja
	$(BIN)/pip install -q --no-build-isolation -e ".[dev]"
	touch $@
