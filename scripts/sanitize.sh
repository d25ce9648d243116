#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Unit tests and programs under AddressSanitizer with UndefinedBehaviorSanitizer, then under ThreadSanitizer. Ends with
# `N passed, N failed, N skipped`.
set -u
cd "$(dirname "$0")/.."
export POLYWARP_LOG_DIR=$PWD/build/logs
failed=0 passed=0 skipped=0

# count FILE: adds the summary lines found in it
count() {
    while read -r p f s; do
        passed=$((passed + p)) failed=$((failed + f)) skipped=$((skipped + s))
    done < <(sed -nE 's/^([0-9]+) passed, ([0-9]+) failed, ([0-9]+) skipped$/\1 \2 \3/p' "$1")
}

run() { # name, meson's b_sanitize, runtime library
    local build=build-$1 runtime
    runtime=$(gcc -print-file-name="$3")
    [ -f "$build/build.ninja" ] || meson setup "$build" -Db_sanitize="$2" -Dbuildtype=debugoptimized >/dev/null
    ninja -C "$build" >"$build/build.log" || { cat "$build/build.log"; exit 1; }
    export POLYWARP_CACHE=$PWD/$build/test-cache.db SANITIZER_RUNTIME=$runtime
    {
        python3 scripts/unit.py "$build"
        # the programs are not instrumented, so the sanitizer's runtime comes in by preloading
        python3 test/apps/run.py --lib "$build/lib" --build build/apps --preload "$runtime" --timeout 600
    } 2>&1 | tee "$build/test.log"
    count "$build/test.log"
}

export ASAN_OPTIONS=detect_leaks=0:handle_segv=0:handle_sigbus=0:handle_sigfpe=0:handle_sigill=0:use_sigaltstack=0:detect_stack_use_after_return=0
export UBSAN_OPTIONS=print_stacktrace=1:halt_on_error=1
export TSAN_OPTIONS=halt_on_error=1:handle_segv=0:second_deadlock_stack=1:suppressions=$PWD/test/tsan.supp
case ${1:-all} in
all | address) run address address,undefined libasan.so ;;&
all | thread) run thread thread libtsan.so ;;
esac
echo "$passed passed, $failed failed, $skipped skipped"
[ "$failed" = 0 ] && [ "$passed" != 0 ]
