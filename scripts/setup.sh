#!/bin/sh
# SPDX-License-Identifier: MIT
# Installs what the build and the tests need and this Debian machine lacks; a CUDA toolkit (nvcc) comes from PyPI into
# build/toolkit when none is found. Run by `make demo` and `make test`; does nothing when all is there.
#   setup.sh build     packages for the build
#   setup.sh test      the above, and nvcc
#   setup.sh compare   the above, and PoCL
set -eu
cd "$(dirname "$0")/.."

packages="gcc g++ libc6-dev make meson ninja-build pkg-config python3 clang-19 llvm-19-dev libclang-rt-19-dev libzstd-dev
liblz4-dev libsqlite3-dev libxxhash-dev"
[ "$1" = build ] || packages="$packages python3-pip python3-venv"
[ "$1" != compare ] || packages="$packages pocl-opencl-icd opencl-headers ocl-icd-opencl-dev"

missing=
for p in $packages; do
    dpkg-query -W -f '${Status}' "$p" 2>/dev/null | grep -q 'ok installed' || missing="$missing $p"
done
if [ -n "$missing" ]; then
    if [ "$(id -u)" != 0 ]; then
        echo "setup: as root: apt-get install$missing" >&2
        exit 1
    fi
    echo "setup: installing$missing"
    export DEBIAN_FRONTEND=noninteractive
    apt-get update -qq || true
    # shellcheck disable=SC2086
    apt-get install -y -qq --no-install-recommends $missing >/dev/null
fi
[ "$1" = build ] && exit 0

# The toolkit that test/apps/run.py would find.
if [ -z "$(python3 test/apps/run.py --nvcc)" ]; then
    echo "setup: no nvcc found: installing CUDA 13.0's compiler and runtime from PyPI into build/toolkit"
    mkdir -p build
    python3 -m venv build/venv
    build/venv/bin/pip install -q --target build/wheels nvidia-cuda-nvcc==13.0.88 nvidia-cuda-crt==13.0.88 nvidia-nvvm==13.0.88 \
        nvidia-cuda-runtime==13.0.96 nvidia-cuda-cccl==13.0.85 || echo "setup: no toolkit: CUDA C++ programs will be skipped" >&2
    [ ! -d build/wheels/nvidia/cu13 ] || python3 scripts/toolkit.py build/wheels/nvidia/cu13 build/toolkit
fi

# CUDA 12's runtime, which programs are linked with as well.
if [ ! -d build/cuda12/nvidia/cuda_runtime ]; then
    echo "setup: fetching CUDA 12.9's runtime from PyPI into build/cuda12"
    mkdir -p build
    [ -x build/venv/bin/pip ] || python3 -m venv build/venv
    build/venv/bin/pip install -q --target build/cuda12 nvidia-cuda-runtime-cu12==12.9.79 ||
        echo "setup: no CUDA 12 runtime: those programs will be skipped" >&2
fi
