# Part of ./dev: the tests of all targets, run as jobs, each of which leaves a row for the table.
# One file per row in build/report/rows: target, isa, cpu, compiler, tests, passed, failed, skipped, digest, reason, parted by tabs.
row() {
  target=$1
  isa=$2
  shift 2
  printf '%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\n' "$target" "$isa" "$(cpu_of "$target")" "$(compiler_name "$target" 2>/dev/null || echo -)" "$@" \
    >"$report_dir/rows/$target-$isa"
  say "  $target $isa: $2 passed, $3 failed, $4 skipped"
}

joined() { paste -sd ';' - | sed 's/;/; /g'; }

# test_isa TARGET ROW [ISA]: runs the tests of one target on one ISA; their report lines become a row. Where `some` is set it is a filter of
# doctest, and `why` says what the row is for.
test_isa() {
  log=$log_dir/test-$1-$2
  code=0
  "build/$1/run-tests" "--isa=${3:-$2}" ${some:+"$some"} >"$log" 2>&1 || code=$?
  tests=0 passed=0 failed=1 skipped=0 digest=-
  report=$(tr -d '\r' <"$log" | sed -n 's/^report: //p' | tail -n 1)
  reason=$({ echo "${why:-}" | grep . || remark_on "$1" && kernels_of "$log" "${3:-$2}" && tr -d '\r' <"$log" | sed -n 's/^report-skip: //p'; } | joined)
  if [ -z "$report" ]; then
    row "$1" "$2" 1 0 1 0 - "ended with code $code without a report; see build/log/test-$1-$2"
    return
  fi
  for word in $report; do
    case $word in tests=* | passed=* | failed=* | skipped=* | digest=*) eval "${word%%=*}='${word#*=}'" ;; esac
  done
  if [ "$code" != 0 ] && [ "$failed" = 0 ]; then
    failed=1
    reason="ended with code $code; see build/log/test-$1-$2"
  fi
  [ "$failed" = 0 ] || grep -E 'ERROR|TEST CASE' "$log" | head -20 >&2 || true
  row "$1" "$2" "$tests" "$passed" "$failed" "$skipped" "$digest" "$reason"
}

# What computed the integers, from the digests of a log.
kernels_of() {
  [ "$2" != integers ] || tr -d '\r' <"$1" | sed -n 's/^digest: \([^ ]*\) .*/\1/p' | paste -sd ' ' - | sed 's/^/integer kernels: /'
}

# Runs a command as one test, or as those that ctest counts; a failure shows its words. Code 77: it could not do its work here.
test_command() {
  target=$1
  name=$2
  shift 2
  log=$log_dir/test-$target-$name
  failed=0 tests=1 skipped=0 reason= code=0
  "$@" >"$log" 2>&1 || code=$?
  counts=$(sed -n 's/.* tests passed, \([0-9]*\) tests failed out of \([0-9]*\)$/failed=\1 tests=\2/p' "$log")
  eval "$counts"
  if [ "$code" = 77 ]; then
    skipped=1
    reason=$(tail -n 1 "$log")
  elif [ "$code" != 0 ]; then
    [ "$failed" != 0 ] || failed=1
    tail -n 20 "$log" >&2
    reason="see build/log/test-$target-$name"
  else
    reason=$(sed -n '/\(left out\|not compared\)\.$/p' "$log" | joined)
  fi
  if [ "$name" = freestanding ] && [ -z "$reason" ]; then
    reason=$(remark_on "$target")
  fi
  row "$target" "$name" "$tests" $((tests - failed - skipped)) "$failed" "$skipped" - "$reason"
}

# check_on_boards TARGET NAME [ARG...]: tools/check/NAME. What could not be done here is the reason of the row.
check_on_boards() {
  if have python3; then
    target=$1 name=$2
    shift 2
    test_command "$target" "$name" "tools/check/$name" "$@"
  else
    row "$1" "$2" 1 0 0 1 - "no python3, so this was not checked"
  fi
}

# ./dev bench of an emulated target: builds it, runs some works, and compares their bits with those of this machine.
check_bench() {
  if have python3; then
    test_command "$1" bench tools/check/bench "$1"
  else
    row "$1" bench 1 0 0 1 - "no python3, so ./dev bench was not tested"
  fi
}

# What can be tested of a built target: its ISAs, and the other jobs.
jobs_of() {
  if is_freestanding_only "$1"; then
    printf '%s\n' "$1 freestanding" "$1 symbols"
    return
  fi
  isas=$("build/$1/run-tests" --list-isas | tr -d '\r')
  for isa in ${isas:-none}; do # running "none" fails and says so
    echo "$1 $isa"
  done
  case $1 in
    rv64v) echo "rv64v rvv-512" ;;
    host) printf '%s\n' "host freestanding" "host symbols" "host programs" "host integration" "host cost" "host model" "host stories" ;;
    a72 | m?* | rv32) printf '%s\n' "$1 freestanding" "$1 symbols" ;;
    a76) echo "a76 integers-max" ;;
  esac
  case $1 in m4 | m55) echo "$1 linked" ;; esac
  case $1 in host | m4) echo "$1 left-out" ;; esac
  case $1 in a72 | m4 | m7 | m55) echo "$1 stories" ;; esac
  case $1 in m0 | m4 | m7 | m55) echo "$1 firmware" ;; esac
  case $1 in a72 | m0 | m4) echo "$1 bench" ;; esac
}

# What shows that a choice of kernel and its bits are right.
digests_and_choice="--test-case=the_bit_identity_sets,*known_answer*,*isa_that*,few_queries_take_rows_of_keys_and_give_the_bits_of_panels"

# The longest tests, of code that is the same on every core, and of kernels. Semihosting splits arguments at blanks, so the names have none.
long_tests_of_common_code="cache:*any*chunks*,cache:*ring*,cache:*random*,cache:*behind*,cache:*an*append*,cache*quality*,cache*error*,\
int8*cache*random*,int8*cache*behind*,slices_have*,trees_drawn*,stories,*near*,a_bad_key*,Q15*,TFLite*int8*bit*for*bit"
long_tests_of_kernels="stored:*the*bits*of*floats,stored:*sums*,stored:*segments*,fewer_columns_have*,batched_heads*,few_queries_of_each*,\
every_profile*stored*,int8:*every*ISA*,int8:*a*block*that*ends*,int8:*float*output*"

# How much of the tests a run takes: `all`, `kernels` without the longest of common code, `short` without any of the longest, or `digests`, which
# are bits and self tests alone. Each kernel has one core that runs the longest tests of it; where an old and a new core share a kernel, it is
# the one with more kernels. `digests` do for scalar kernels of a core that runs the short tests with its vectors: a72, m7, m33 and riscv64 run
# those tests with scalar ones. `most`: without two more, which take minutes on emulated vectors of RISC-V.
extent_of() {
  case $1-$2 in
    host-* | m4-*) echo all ;;
    rv64v-rvv) echo most ;;
    a72-neon64 | armv7-neon | m55-helium | m55-integers | m0-integers | armv7-integers | a76-integers-max) echo kernels ;;
    a53-scalar | a76-scalar | armv7-scalar | m55-scalar) echo digests ;;
    *) echo short ;;
  esac
}
test_extent() {
  case $(extent_of "$1" "$2") in
    all) test_isa "$@" ;;
    kernels)
      some=--test-case-exclude=$long_tests_of_common_code why="without the longest tests of common code, which run on this machine and on m4" \
        test_isa "$@"
      ;;
    most)
      some=--test-case-exclude=$long_tests_of_common_code,stored:*the*bits*of*floats,fewer_columns_have* \
        why="without the longest tests of common code, of stored types and of widths, which run on this machine and on m4" test_isa "$@"
      ;;
    short)
      some=--test-case-exclude=$long_tests_of_common_code,$long_tests_of_kernels \
        why="without the longest tests, which one core with each kernel runs" test_isa "$@"
      ;;
    digests) some=$digests_and_choice why="digests and self tests, as other cores run the short tests of scalar kernels" test_isa "$@" ;;
  esac
}

# The same program on a core whose registers have 512 bits, and on one that has no vectors.
wide_registers() {
  some=$digests_and_choice why="digests and self tests, on a core whose registers have 512 bits" \
    FOVEA_QEMU_CPU="rv64,v=true,vlen=512,elen=64,vext_spec=v1.0" test_isa rv64v rvv-512 "$1"
}
without_vectors() {
  some=$digests_and_choice why="digests, self tests and the choice of kernels, on a core without vectors" FOVEA_QEMU_CPU=rv64 test_isa rv64v scalar "$1"
}

run_job() {
  if [ "$1-$2" = all-builders ]; then
    builders | while read -r target name; do "$root/dev" job "$target" "$name" </dev/null; done
    return
  fi
  job "$@"
  save_seconds "$@"
}

job() {
  case $1-$2 in
    *-freestanding) test_command "$1" freestanding ctest --test-dir "build/$1" --output-on-failure --no-tests=error -R '^freestanding$' ;;
    *-programs) test_command "$1" programs ctest --test-dir "build/$1" --output-on-failure --no-tests=error -R '^(example|tool|bench)_' ;;
    *-firmware) test_command "$1" firmware ctest --test-dir "build/$1" --output-on-failure --no-tests=error -R '^firmware_' ;;
    *-integration) test_command "$1" integration ctest --test-dir "build/$1" --output-on-failure --no-tests=error -R '^integration_' -LE slow ;;
    *-cost) # one after the other: all build for the same boards
      check_on_boards "$1" cost
      check_on_boards "$1" instructions
      check_on_boards "$1" selftest --board m4 --entry fixed_attend_plain
      ;;
    m0-symbols | m3-symbols | rv32-symbols) test_command "$1" symbols tools/check/integers_only "build/$1/tests/freestanding" ;;
    *-stories) test_command "$1" stories check_stories "$1" ;;
    *-model) test_command "$1" model check_model ;;
    *-bench) check_bench "$1" ;;
    *-linked) test_command "$1" linked tools/check/linked "build/$1" ;;
    *-left-out) test_command "$1" left-out tools/check/left_out "$1" ;;
    *-symbols) test_command "$1" symbols tools/check/symbols "build/$1/lib/libfovea.a" ;;
    rv64v-rvv-512) wide_registers rvv ;;
    rv64v-scalar) without_vectors scalar ;;
    a76-integers-max) FOVEA_QEMU_CPU=max test_extent "$1" "$2" integers ;; # a CPU newer than any board, for i8mm
    *) test_extent "$1" "$2" ;;
  esac
}

# CPU seconds of what this shell has run, for build/report/seconds: where the time of all tests goes.
save_seconds() {
  mkdir -p "$report_dir/times"
  times >"$report_dir/times/$1 $2"
}
seconds_by_step() {
  for step in "$report_dir"/times/*; do
    tr -c '0-9.\n' ' ' <"$step" | awk -v step="${step##*/}" 'END { printf "%.1f %s\n", 60 * $1 + $2 + 60 * $3 + $4, step }'
  done | sort -rn >"$report_dir/seconds"
  awk '{ all += $1 } $2 == "build" { built += $1 } END { printf "%.1f CPU minutes, %.1f of them for builds", all / 60, built / 60 }' \
    "$report_dir/seconds"
}

# Jobs that build, one after the other because some build in the same folders, and all together one of the jobs that run at a time.
builders() { grep -E ' (cost|left-out|linked|bench)$' "$report_dir/jobs"; }

# What runs at a time starts with the longest, so that none is left running alone.
longest_jobs="host integration
m4 scalar
m55 helium
a72 neon64
armv7 neon
m0 integers
m4 integers
rv64v rvv
host programs"
jobs_longest_first() {
  echo "all builders"
  echo "$longest_jobs" | grep -Fx -f "$report_dir/jobs" || true
  { builders || true; echo "$longest_jobs"; } | grep -Fxv -f - "$report_dir/jobs"
}

test_all() {
  [ $# = 0 ] || fail "test takes no arguments: ./dev run TARGET [ARG...] runs the tests of one target."
  setup tests
  rm -rf "$report_dir"
  mkdir -p "$report_dir/rows" "$log_dir"
  : >"$report_dir/jobs"
  for target in $all_targets; do
    reason=$(obstacle_of "$target")
    if [ -n "$reason" ]; then
      row "$target" - 0 0 0 1 - "$reason"
    else
      say "building $target"
      if (build "$target" && save_seconds build "$target"); then
        jobs_of "$target" >>"$report_dir/jobs"
      else
        row "$target" - 1 0 1 0 - "does not build; see build/log/build-$target"
      fi
    fi
  done
  say "testing, $(cores) runs at a time"
  jobs_longest_first | xargs -n 2 -P "$(cores)" "$root/dev" job
  say "$(seconds_by_step); build/report/seconds has each step"
  tools/check/table "$report_dir" $all_targets
}
