#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Answers of PTX instructions: `record` writes those of this machine's NVIDIA driver, `check` compares ours with recorded ones.
#   scripts/conformance.sh record FOLDER FILE [FORM]   FOLDER: for generated files; needs python3, cc and libcuda.so.1 only
#   scripts/conformance.sh check BUILD FILE [FORM]     BUILD: a finished build; BUILD/lib/libcuda.so.1 is run, else this machine's
# FILE may end in .zst or .xz; FORM: only forms whose name begins so. LIBCUDA=file uses another driver. CONFORMANCE_ERRORS=1 prints the errors
# of approximate forms. SUITE=bulk takes the forms of gen/conformance_bulk.py instead, which have a FILE of their own; likewise other suites.
set -eu
case ${1-} in record | check) ;; *) sed -n '4,8s/^# *//p' "$0"; exit 2 ;; esac
[ $# -ge 3 ] || { sed -n '4,8s/^# *//p' "$0"; exit 2; }
mode=$1 folder=$2 file=$3 form=${4-}
case $file in /*) ;; *) file=$PWD/$file ;; esac
case $folder in /*) ;; *) folder=$PWD/$folder ;; esac
cd "$(dirname "$0")/.."

if [ -n "${LIBCUDA-}" ]; then
    lib=$LIBCUDA
elif [ "$mode" = check ] && [ -e "$folder/lib/libcuda.so.1" ]; then
    lib=$folder/lib/libcuda.so.1
    export LD_LIBRARY_PATH="$folder/lib${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}"
else
    lib=$( (ldconfig -p 2>/dev/null || /sbin/ldconfig -p) | sed -n 's/.*libcuda\.so\.1 .*x86-64.*=> //p' | head -1)
    for f in /usr/lib/x86_64-linux-gnu/libcuda.so.1 /usr/lib64/libcuda.so.1 /usr/local/nvidia/lib64/libcuda.so.1 /usr/local/nvidia/lib/libcuda.so.1; do
        [ -z "$lib" ] && [ -e "$f" ] && lib=$f
    done
    [ -n "$lib" ] || { echo "no libcuda.so.1 found; set LIBCUDA" >&2; exit 2; }
fi

suite=conformance${SUITE:+_$SUITE}
work=$folder/$suite
mkdir -p "$work"
python3 gen/$suite.py "$work"
${CC:-cc} -std=gnu17 -O2 -D_GNU_SOURCE -Iinclude -Itest/ptx test/ptx/*.c "$lib" -lm -Wl,--allow-shlib-undefined -Wl,-rpath,"$(dirname "$lib")" -o "$work/runner"

raw=$work/answers.bin
if [ "$mode" = check ]; then
    case $file in
    *.zst) zstd -dcq "$file" >"$raw" ;;
    *.xz) python3 -c 'import lzma, sys; sys.stdout.buffer.write(lzma.open(sys.argv[1]).read())' "$file" >"$raw" ;;
    *) raw=$file ;;
    esac
    exec "$work/runner" check "$work" "$raw" $form
fi
"$work/runner" record "$work" "$raw" $form || true
case $file in
*.zst) zstd -19 --long=27 -qf "$raw" -o "$file" ;;
*.xz) python3 -c 'import lzma, sys; lzma.open(sys.argv[2], "wb", preset=9).write(open(sys.argv[1], "rb").read())' "$raw" "$file" ;;
*) cp "$raw" "$file" ;;
esac
ls -l "$file"
