#!/bin/sh
# SPDX-License-Identifier: MIT
# libFuzzer on the readers of untrusted bytes, with address and undefined-behaviour sanitizers: FUZZ_RUNS executions of each
# target (default 1000000), starting from the corpus in the tree. New inputs stay in build/fuzz.
set -eu
cd "$(dirname "$0")/.."
build=build
runs=${FUZZ_RUNS:-1000000}
mkdir -p $build/fuzz
[ -f $build/build.ninja ] || make $build/build.ninja
ninja -C $build gen/ptx_enums.h gen/ptx_tables.c gen/options_enum.h gen/option_table.c >/dev/null
base="src/base/arena.c src/base/vec.c src/base/map.c src/base/hash.c src/base/elf.c"
flags="-std=gnu17 -g -O1 -fsanitize=fuzzer,address,undefined -fno-sanitize-recover=all -D_GNU_SOURCE -Isrc -Iinclude -Itest -I$build/gen"

fuzz() { # name, sources
    name=$1
    shift
    # shellcheck disable=SC2086
    clang-19 $flags -o $build/fuzz/$name test/fuzz/${name}_fuzz.c "$@" $base -lxxhash -llz4 -lzstd
    mkdir -p $build/fuzz/corpus-$name
    $build/fuzz/$name -runs="$runs" -max_len=16384 -print_final_stats=1 -rss_limit_mb=4096 -timeout=10 $build/fuzz/corpus-$name \
        test/fuzz/corpus/$name 2>&1 | grep -E 'stat::number_of_executed_units|ERROR|SUMMARY|Test unit' | sed "s/^/$name: /"
}

fuzz image src/image/*.c
fuzz ptx src/ptx/*.c $build/gen/ptx_tables.c
