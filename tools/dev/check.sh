# Part of ./dev: what is done before a commit, and what is proven now and then.
# Prints the command of clang-format 19. No other version will do: 18, 20 and 21 lay out some lines of this tree differently.
clang_format() {
  for tool in clang-format-19 clang-format; do
    have "$tool" && "$tool" --version | grep -q 'version 19\.' && echo "$tool" && return
  done
  return 1
}

check_format() {
  tool=$(clang_format) || { say "check: no clang-format 19 here, so no format check: run ./dev setup" && return; }
  wrong=$(find include lib platforms tests bench tools examples -name '*.[ch]pp' -not -path 'tools/package/*/examples/*' -exec "$tool" --dry-run {} + 2>&1 |
    sed -n 's/^\([^:]*\):.*code should be clang-formatted.*/\1/p' | sort -u)
  [ -z "$wrong" ] || fail "not formatted, '$tool -i FILE' does it:" $wrong
  say "check: format is right"
}

check() {
  setup all
  check_format
  say "building host"
  build host
  build/host/run-tests
  ctest --test-dir build/host --output-on-failure -R '^(freestanding|example_|tool_|bench_|integration_(headers|sources|refusals)$)'
  tools/check/symbols build/host/lib/libfovea.a
  tools/check/sizes build/host/lib/libfovea.a
  tools/check/readme
  tools/check/names
  tools/package/package check
  tools/check/broken_packages
  tools/check/systems || [ $? = 77 ]
}

prove() {
  fuzz_seconds=${FOVEA_FUZZ_SECONDS:-120}
  if [ "${1:-}" = --fuzz-seconds ] && [ $# = 2 ]; then
    fuzz_seconds=$2
  elif [ $# != 0 ]; then
    fail "prove takes one option: --fuzz-seconds N, how long each fuzzer runs."
  fi
  case $fuzz_seconds in
    *[!0-9]* | "" | 0) fail "--fuzz-seconds wants a number of seconds, not '$fuzz_seconds'." ;;
  esac
  setup all
  say "long accuracy runs and random calls"
  build host
  build/host/run-tests --no-skip "--test-case=*prove*"
  say "the library in projects of others, with their flags and tools; a decoder on other cores"
  ctest --test-dir build/host --output-on-failure --no-tests=error -L slow
  tools/check/left_out host "scalar;avx2"
  checks="-fsanitize=address,undefined -fno-sanitize-recover=all"
  by_clang=$(clang_settings)
  if [ -n "$by_clang" ]; then
    prove_variant clang host "built by clang" $by_clang
  else
    say "prove: nothing is built by clang, because there is none here: install it to have that too."
    by_gcc=--param=asan-instrumentation-with-call-threshold=0 # inline, the kernels would take it many minutes more
  fi
  prove_variant sanitized host "address and undefined-behaviour sanitizers" -DFOVEA_WERROR=OFF -DCMAKE_BUILD_TYPE=RelWithDebInfo $by_clang \
    -DCMAKE_C_FLAGS="$checks" -DCMAKE_CXX_FLAGS="$checks ${by_gcc:-}"
  say "random calls, under the sanitizers" # aborting: then the test program still tells the seed
  ASAN_OPTIONS=abort_on_error=1 FOVEA_FUZZ_CALLS=3000 build/sanitized/run-tests --no-skip "--test-case=prove_random_calls"
  say "a million damaged safetensors files, and as many models of llama2.c and of transformers, under the sanitizers"
  build/sanitized/run-tests --isa=scalar --no-skip "--test-case=prove_damaged_*"
  say "the closed form of instructions, of a thousand calls on Cortex-M0+, M4 and M55, and ten thousand inputs"
  tools/check/instructions --calls 1000 --inputs 10000 || [ $? = 77 ] || fail "counts are not what bench/instructions.tsv predicts."
  say "self-tests, with every bit of their constants flipped"
  tools/check/selftest --all || [ $? = 77 ] || fail "a self-test misses what it should find."
  prove_variant m55-gcc m55 "Cortex-M55, built by gcc" -DFOVEA_BOARD_COMPILER=gcc
  prove_variant m3-floats m3 "floats on a Cortex-M3, which has no FPU" -DFOVEA_COMPILES_TO_FPU=ON
  prove_variant m4-unfused m4 "Cortex-M4, products and sums apart" -DFOVEA_ISAS=scalar_no_fma
  say "a real model: its tokens, its embeddings in floats and int8"
  prove_model
  say "decoders from safetensors, against float64"
  prove_llama
  prove_packages
  say "a dozen mutants of the library, others each day"
  tools/mutate --seed "$(date +%Y%m%d)" --count 12 --minutes 10 --jobs "$(cores)"
  fuzz
}

# Every package by the tool of its ecosystem, or by a consumer.
prove_packages() {
  for target in m0 m4 m55; do [ -n "$(obstacle_of $target)" ] || build $target fovea; done
  for case in amalgam installed source arduino platformio esp-idf cmsis zephyr pico conan vcpkg debian python; do
    say "packages: $case"
    tools/check/package $case || [ $? = 77 ] || fail "the package $case is wrong."
  done
  if [ -z "$(obstacle_of m4)" ]; then
    prove_variant m4-one m4 "the library in one file, on a Cortex-M4" "-DFOVEA_ONE_SOURCE=$root/build/package/amalgam/fovea.cpp"
  fi
}

# libFuzzer on floats, integers, and products with layers at once, from the inputs of tests/fuzz/corpus on. What is found stays in
# build/fuzz/findings.
fuzz() {
  by_clang=$(clang_settings fuzzer,)
  if [ -z "$by_clang" ]; then
    say "prove: nothing is fuzzed, because there is no clang with libFuzzer here: run ./dev setup."
    return
  fi
  have python3 || fail "python3 is needed to unpack tests/fuzz/corpus: run ./dev setup."
  say "fuzzing floats, integers, products and layers, $fuzz_seconds seconds each"
  compile fuzz host fuzz_programs $by_clang -DFOVEA_BUILD_FUZZ=ON -DFOVEA_BUILD_BENCH=OFF -DFOVEA_BUILD_TOOLS=OFF -DFOVEA_BUILD_EXAMPLES=OFF
  mkdir -p build/fuzz/findings
  fuzz_one float &
  floats=$!
  fuzz_one product &
  products=$!
  found=0
  fuzz_one integer || found=1
  wait "$floats" || found=1
  wait "$products" || found=1
  [ "$found" = 0 ] || fail "a fuzzer found something: the words are above, the input in build/fuzz/findings; give it to build/fuzz/tests/fuzz/fovea_fuzz_*."
}

# fuzz_one NAME: runs one harness; on a finding tells its words. 10 seconds are a thousand times what a call may take.
fuzz_one() {
  tools/check/corpus unpack "tests/fuzz/corpus/$1.txt" "build/fuzz/corpus/$1"
  code=0
  "build/fuzz/tests/fuzz/fovea_fuzz_$1" -max_len=256 -timeout=10 -max_total_time="$fuzz_seconds" -print_final_stats=1 \
    -artifact_prefix="build/fuzz/findings/$1-" "build/fuzz/corpus/$1" >"$log_dir/fuzz-$1" 2>&1 || code=$?
  if [ "$code" != 0 ]; then
    grep -E -A 1 '^(finding|call):|runtime error|ERROR|Test unit' "$log_dir/fuzz-$1" >&2 || tail -n 20 "$log_dir/fuzz-$1" >&2
    return 1
  fi
  say "  $1: $(sed -n 's/^stat::number_of_executed_units: *//p' "$log_dir/fuzz-$1") calls, no finding"
}

# clang_settings [fuzzer,]: the settings of the newest clang that also links its sanitizers, and libFuzzer when asked for; with them it is
# five times as fast as gcc 12.
clang_settings() {
  program='int main() {}'
  [ -z "${1:-}" ] || program='extern "C" int LLVMFuzzerTestOneInput(const unsigned char*, unsigned long) { return 0; }'
  for version in -21 -20 -19 -18 -17 -16 -15 -14 ""; do
    if have "clang++$version" && have "clang$version" &&
      echo "$program" | "clang++$version" -fsanitize="${1:-}address,undefined" -x c++ - -o "$log_dir/sanitized" 2>/dev/null; then
      echo "-DCMAKE_CXX_COMPILER=clang++$version -DCMAKE_C_COMPILER=clang$version"
      return
    fi
  done
}

# prove_variant NAME TARGET TITLE CMAKE ARGUMENT...: all tests, built with other flags or by another compiler. An emulated board may
# take an hour.
prove_variant() {
  name=$1 target=$2
  say "tests, $3"
  shift 3
  compile "$name" "$target" test_programs "$@"
  FOVEA_TIMEOUT=${FOVEA_TIMEOUT:-3600} "build/$name/run-tests"
}
