# SPDX-License-Identifier: MIT
# The two commands a new machine needs are `make demo` and `make test`; meson and ninja do the work.
BUILD ?= build
JOBS ?= $(shell nproc)
MESON_OPTIONS ?=

.PHONY: all setup demo test test-sanitize fuzz bench bench-compare install format clean

all: $(BUILD)/build.ninja
	@ninja -C $(BUILD)

$(BUILD)/build.ninja:
	@scripts/setup.sh build
	@meson setup $(BUILD) $(MESON_OPTIONS) >/dev/null || { cat $(BUILD)/meson-logs/meson-log.txt; exit 1; }

setup:
	@scripts/setup.sh test

# Builds all and runs a CUDA C++ program, compiled by nvcc, on this machine.
demo: setup all
	@scripts/demo.sh $(BUILD)

test: setup all
	@scripts/test.sh $(BUILD)

# Address, undefined-behaviour and thread sanitizers over unit tests and programs: longer.
test-sanitize: setup
	@scripts/sanitize.sh

# FUZZ_RUNS executions of each fuzz target (default a million in all).
fuzz: setup
	@scripts/fuzz.sh

# Timings; best under `chrt -f 1` on a silent machine.
bench: setup all
	@scripts/bench.sh $(BUILD)

# Side by side with PoCL and hand-written C; writes docs/performance.md's table and plot.
bench-compare:
	@scripts/setup.sh compare
	@$(MAKE) all
	@python3 scripts/benchmarks.py check $(BUILD)
	@chrt -f 1 true 2>/dev/null && exec chrt -f 1 python3 scripts/compare.py $(BUILD) --write || exec python3 scripts/compare.py $(BUILD) --write

install: all
	@meson install -C $(BUILD)

format:
	@clang-format -i $$(git ls-files '*.c' '*.h' | grep -v ^bench/)

clean:
	@rm -rf $(BUILD) build-*
