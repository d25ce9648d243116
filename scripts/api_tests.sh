#!/bin/sh
# SPDX-License-Identifier: MIT
# API tests on any driver, with a C compiler only: api_tests.sh [LIB [TEST ...]]
#   LIB   folder that holds libcuda.so.1; `-` or nothing: the one that the loader finds
#   TEST  names of objects (context memory ...); nothing: all of test/api
# CC, OUT (folder for the programs) may be set. Ends with `N assertions over M entry points; P passed, F failed, T todo, B broken`.
set -u
root=$(cd "$(dirname "$0")/.." && pwd)
lib=${1:--}
[ $# -gt 0 ] && shift
out=${OUT:-$(mktemp -d)}
mkdir -p "$out"
[ "$lib" = - ] || export LD_LIBRARY_PATH="$(cd "$lib" && pwd)${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}"
export API_NAMES="$out/names"
: > "$API_NAMES"
: > "$out/sums"
[ $# -gt 0 ] || set -- $(cd "$root/test/api" && ls *_test.c | sed 's/_test\.c$//')
for name; do
    program=$out/api_${name}_test
    if ! ${CC:-cc} -std=gnu17 -O1 -I"$root/include" -o "$program" "$root/test/api/${name}_test.c" "$root/test/api/api.c" -ldl -lpthread -lm; then
        echo "api_${name}_test: 1 assertions over 0 entry points; 0 passed, 1 failed, 0 todo, 0 broken, 0 skipped" | tee -a "$out/sums"
        continue
    fi
    "$program" > "$out/$name.log" 2>&1
    cat "$out/$name.log"
    grep '^api_.* assertions over .* skipped$' "$out/$name.log" >> "$out/sums" ||
        echo "api_${name}_test: 1 assertions over 0 entry points; 0 passed, 1 failed, 0 todo, 0 broken, 0 skipped" >> "$out/sums"
done
entries=$(sort -u "$API_NAMES" | wc -l)
awk -v entries="$entries" '{ n += $2; p += $8; f += $10; t += $12; b += $14 }
    END { printf "%d assertions over %d entry points; %d passed, %d failed, %d todo, %d broken\n", n, entries, p, f, t, b; exit f > 0 }' "$out/sums"
