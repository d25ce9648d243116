#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# All tests that this machine can run, summed up in a last line `N passed, N failed, N skipped`: a unit-test program, a CUDA program, a
# benchmark kernel, and a conformance suite in a mode each count as one.
set -u
build=$1
cd "$(dirname "$0")/.."
export POLYWARP_CACHE="$PWD/$build/test-cache.db" POLYWARP_LOG_DIR="$PWD/$build/logs"
log=$build/test.log
: >"$log"

step() {
    echo "== $1"
    shift
    "$@" 2>&1 | tee -a "$log"
}

step "unit tests" python3 scripts/unit.py "$build"
step "PTX instructions against an NVIDIA GPU's answers" python3 scripts/conformance_test.py "$build"
step "programs, static cudart" python3 test/apps/run.py --lib "$build/lib" --build "$build/apps"
step "programs, shared cudart" python3 test/apps/run.py --lib "$build/lib" --build "$build/apps" --cudart shared --kind cu \
    --only vector_add memory_spaces streams_events graph_capture printf illegal_address separable
for cudart in static12 shared12; do
    step "programs, CUDA 12's cudart ($cudart)" python3 test/apps/run.py --lib "$build/lib" --build "$build/apps" --cudart $cudart --kind cu \
        --only vector_add memory_spaces streams_events graph_capture printf illegal_address atomics
done
step "benchmark kernels, static and shared cudart" python3 scripts/benchmarks.py check "$build"

awk '/^[0-9]+ passed, [0-9]+ failed, [0-9]+ skipped$/ { p += $1; f += $3; s += $5 }
     END { printf "%d passed, %d failed, %d skipped\n", p, f, s; exit f != 0 || p == 0 }' "$log"
