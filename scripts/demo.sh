#!/bin/sh
# SPDX-License-Identifier: MIT
# Compiles examples/*.cu as any CUDA user would and runs them through our libcuda.so.1.
set -eu
build=$1
cd "$(dirname "$0")/.."
nvcc=$(python3 test/apps/run.py --nvcc)
if [ -z "$nvcc" ]; then
    echo "demo: no nvcc; running a driver-API program with PTX text instead"
    python3 test/apps/run.py --lib "$build/lib" --build "$build/apps" --only drv_vector_add
    exit
fi
mkdir -p "$build/examples"
for name in device hello mandelbrot; do
    "$nvcc" -O2 -arch=compute_75 -code=compute_75 -Wno-deprecated-gpu-targets -o "$build/examples/$name" "examples/$name.cu"
    echo "\$ polywarp -- $name"
    (cd "$build/examples" && "../bin/polywarp" -- "./$name")
done
echo "the picture: $build/examples/mandelbrot.ppm"
