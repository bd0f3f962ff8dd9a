#!/usr/bin/env bash
# Searches for inputs that a fuzz target is wrong about: search.sh BUILD TARGET SECONDS
# [libFuzzer's options]. Exits with 1, and prints the file, when it has found one.
set -euo pipefail
build=$1 target=$2 seconds=$3
shift 3
source=$(dirname "${BASH_SOURCE[0]}")
mkdir -p "$build/fuzz/$target" "$build/fuzz/findings"
options=(
  -max_total_time="$seconds" -timeout=10 -rss_limit_mb=2048 -max_len=65536
  -artifact_prefix="$build/fuzz/findings/$target-" -print_final_stats=1
)
symbolizer=$(command -v llvm-symbolizer-22) && export ASAN_SYMBOLIZER_PATH=$symbolizer
export UBSAN_OPTIONS=print_stacktrace=1
exec "$build/bin/libfuzzer-$target" "${options[@]}" "$@" \
  "$build/fuzz/$target" "$source/corpus/$target"
