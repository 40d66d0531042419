# Part of ./dev: what is done before a commit, and what is proven now and then.
clang_format() {
  for tool in clang-format-19 clang-format; do
    have "$tool" && echo "$tool" && return
  done
  return 1
}

check_format() {
  tool=$(clang_format) || { say "check: no clang-format here, so no format check: run ./dev setup" && return; }
  wrong=$(find include lib platforms tests bench tools examples -name '*.[ch]pp' -exec "$tool" --dry-run {} + 2>&1 |
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
  tools/check/systems || [ $? = 77 ]
}

prove() {
  setup all
  say "long accuracy runs and random calls"
  build host
  build/host/run-tests --no-skip "--test-case=*prove*"
  checks="-fsanitize=address,undefined -fno-sanitize-recover=all"
  by_clang=$(clang_settings)
  if [ -n "$by_clang" ]; then
    prove_variant clang host "built by clang, with what is best for another vendor" $by_clang -DFOVEA_OTHER_VENDOR=ON
  else
    say "prove: nothing is built by clang, because there is none here: install it to have that too."
    by_gcc=--param=asan-instrumentation-with-call-threshold=0 # inline, the kernels would take it many minutes more
  fi
  prove_variant sanitized host "address and undefined-behaviour sanitizers" -DFOVEA_WERROR=OFF -DCMAKE_BUILD_TYPE=RelWithDebInfo $by_clang \
    -DCMAKE_C_FLAGS="$checks" -DCMAKE_CXX_FLAGS="$checks ${by_gcc:-}"
  say "random calls, under the sanitizers" # aborting: then the test program still tells the seed
  ASAN_OPTIONS=abort_on_error=1 FOVEA_FUZZ_CALLS=3000 build/sanitized/run-tests --no-skip "--test-case=prove_random_calls"
  prove_variant m55-gcc m55 "Cortex-M55, built by gcc" -DFOVEA_BOARD_COMPILER=gcc
  prove_variant m3-floats m3 "floats on a Cortex-M3, which has no FPU" -DFOVEA_COMPILES_TO_FPU=ON
  say "a dozen mutants of the library, others each day"
  tools/mutate --seed "$(date +%Y%m%d)" --count 12 --minutes 10 --jobs "$(cores)"
}

# The settings of the newest clang that also links its sanitizers; with them it is five times as fast as gcc 12.
clang_settings() {
  for version in -21 -20 -19 -18 -17 -16 -15 -14 ""; do
    if have "clang++$version" && have "clang$version" &&
      echo 'int main() {}' | "clang++$version" -fsanitize=address,undefined -x c++ - -o "$log_dir/sanitized" 2>/dev/null; then
      echo "-DCMAKE_CXX_COMPILER=clang++$version -DCMAKE_C_COMPILER=clang$version"
      return
    fi
  done
}

# prove_variant NAME TARGET TITLE CMAKE ARGUMENT...: all tests, built with other flags or by another compiler.
prove_variant() {
  name=$1 target=$2
  say "tests, $3"
  shift 3
  compile "$name" "$target" test_programs "$@"
  "build/$name/run-tests"
}
