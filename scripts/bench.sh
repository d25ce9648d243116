#!/bin/sh
# SPDX-License-Identifier: MIT
# Timings, never pass or fail: parse speed, start-up, launch cost, the benchmark kernels. Run under `chrt -f 1` on a silent machine.
set -eu
build=$1
cd "$(dirname "$0")/.."
export LD_LIBRARY_PATH="$PWD/$build/lib" POLYWARP_CACHE="$PWD/$build/bench-cache.db"

echo "== parsing PTX"
nvcc=$(python3 test/apps/run.py --nvcc)
mkdir -p "$build/bench/ptx"
if [ -n "$nvcc" ]; then
    for f in bench/cuda/*.cu test/apps/lookback.cu test/apps/thrust_sort.cu; do
        out=$build/bench/ptx/$(basename "$f" .cu).ptx
        [ -s "$out" ] || "$nvcc" -O3 -arch=compute_75 -Wno-deprecated-gpu-targets -ptx -o "$out" "$f"
    done
    "$build/bench/ptx_parse" "$build"/bench/ptx/*.ptx
else
    "$build/bench/ptx_parse" test/fuzz/corpus/ptx/*.ptx
fi

echo "== start-up, cold cache, then warm; launch cost"
rm -f "$POLYWARP_CACHE"*
"$build/bench/launch" 0
"$build/bench/launch" 20000

echo "== kernels (medians of five)"
python3 scripts/benchmarks.py time "$build"
