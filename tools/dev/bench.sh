# Part of ./dev: the benchmark of each target: on this machine, on another one over ssh, or under an emulator.

# bench [TARGET] [ARGUMENT...]: without a target this machine, host.
bench() {
  case ${1:-} in
    "" | -*) target=host ;;
    *)
      known_target "$1"
      target=$1
      shift
      ;;
  esac
  case $target in
    host) bench_host "$@" ;;
    m*) bench_board "$@" ;;
    *) bench_linux "$@" ;;
  esac
}

bench_host() {
  setup host
  say "building fovea_bench"
  build host fovea_bench
  exec build/host/bench/fovea_bench "$@"
}

# Is this machine one of the target's architecture?
runs_here() {
  case $1-$(uname -s)-$(uname -m) in
    a[0-9]*-Linux-aarch64 | armv[67]-Linux-armv7l | armv6-Linux-armv6l | riscv64-Linux-riscv64) return 0 ;;
  esac
  return 1
}

# Takes `--ssh USER@HOST` out of the arguments, which may stand anywhere; the rest goes to fovea_bench.
bench_linux() {
  there= count=$#
  while [ "$count" -gt 0 ]; do
    word=$1
    shift
    count=$((count - 1))
    case $word in
      --ssh)
        [ "$count" -gt 0 ] || fail "--ssh needs a value: --ssh USER@HOST."
        there=$1
        shift
        count=$((count - 1))
        ;;
      --ssh=*) there=${word#--ssh=} ;;
      *) set -- "$@" "$word" && continue ;;
    esac
    case $there in "" | -*) fail "--ssh needs a machine: --ssh USER@HOST." ;; esac
  done
  if [ -n "$there" ]; then
    have ssh && have scp || fail "--ssh needs ssh and scp: install openssh-client."
  fi
  if runs_here "$target" || [ -n "$there" ]; then setup host; else setup tests; fi
  have "$(compiler_of "$target")" || fail "$(compiler_of "$target") is not installed: run ./dev setup"
  say "building fovea_bench for $target"
  compile "$target" "$target" fovea_bench
  if [ -n "$there" ]; then
    bench_over_ssh "$@"
  elif runs_here "$target"; then
    code=0
    "build/$target/bench/fovea_bench" "$@" || code=$?
    explain_code "this machine" "$code"
  else
    have "$(emulator_of "$target")" || fail "$(emulator_of "$target") is not installed: run ./dev setup"
    code=0
    "build/$target/bench/run-bench" "$@" || code=$?
    say "emulated: its times say nothing about a board. On one: ./dev bench $target --ssh USER@HOST, or copy build/$target/bench/fovea_bench"
    exit "$code"
  fi
}

# An exit code of a program that met an instruction which its machine lacks is 132; the shell of ssh hands it on.
explain_code() {
  [ "$2" != 132 ] || fail "the CPU of $1 lacks instructions that $target has: choose an older target of $all_targets."
  exit "$2"
}

quoted_word() { printf "'%s'" "$(printf '%s' "$1" | sed "s/'/'\\\\''/g")"; }

# Copies the program, which is static, runs it there with the same flags, and brings its files back. JSON always comes.
bench_over_ssh() {
  folder=$(ssh "$there" 'mktemp -d "${TMPDIR:-/tmp}/fovea.XXXXXX"') || fail "ssh $there did not make a folder there: try 'ssh $there' first."
  trap 'ssh "$there" "rm -rf $(quoted_word "$folder")" </dev/null' EXIT
  scp -q "build/$target/bench/fovea_bench" "$there:$folder/fovea_bench" || fail "scp to $there failed."
  words= fetched= json=
  while [ $# -gt 0 ]; do
    flag=${1%%=*}
    case $flag in
      --json | --csv | --svg | --against) ;;
      *)
        words="$words $(quoted_word "$1")"
        shift
        continue
        ;;
    esac
    if [ "$flag" != "$1" ]; then
      file=${1#*=}
    else
      [ $# -gt 1 ] || fail "$flag needs a file."
      file=$2
      shift
    fi
    shift
    name=${flag#--}
    words="$words $flag $name"
    if [ "$name" = against ]; then
      scp -q "$file" "$there:$folder/$name" || fail "$file could not be copied to $there."
    else
      : >>"$file" || fail "$flag: cannot write $file."
      keep "$name" "$file"
    fi
    [ "$name" != json ] || json=$file
  done
  if [ -z "$json" ]; then
    json=build/$target/bench/$(printf '%s' "${there#*@}" | tr -c 'A-Za-z0-9.-' _).json
    words="$words --json json"
    keep json "$json"
  fi
  code=0
  ssh "$there" "cd $(quoted_word "$folder") && ./fovea_bench$words" </dev/null || code=$?
  [ "$code" -le 1 ] || explain_code "$there" "$code"
  printf '%s' "$fetched" | while IFS='	' read -r name file; do
    scp -q "$there:$folder/$name" "$file" </dev/null || fail "$name of $there could not be copied to $file."
  done
  say "results of $there: $json"
  exit "$code"
}

# A file to fetch: its name there, its name here.
keep() {
  fetched="$fetched$1	$2
"
}

# bench_board [--json FILE] [--memory FLASH,SIZE,RAM,SIZE] [--filter TEXT] [--list]: on an emulated board, or built for a real one.
bench_board() {
  json=build/$target/bench/results.json memory= words=
  while [ $# -gt 0 ]; do
    flag=${1%%=*}
    value=
    case $flag in
      --json | --memory | --filter)
        if [ "$flag" != "$1" ]; then
          value=${1#*=}
        else
          [ $# -gt 1 ] || fail "$flag needs a value."
          value=$2
          shift
        fi
        [ -n "$value" ] || fail "$flag needs a value."
        ;;
    esac
    case $1 in
      --list) words="$words --list" ;;
      *)
        case $flag in
          --json) json=$value ;;
          --memory) memory=$value ;;
          --filter) words="$words --filter $(printf '%s' "$value" | tr -c 'A-Za-z0-9/.-' _)" ;;
          *) fail "bench $target has the flags --filter TEXT, --json FILE, --list, and --memory FLASH,SIZE,RAM,SIZE for a real chip; not '$1'." ;;
        esac
        ;;
    esac
    shift
  done
  if [ -n "$memory" ]; then
    printf '%s\n' "$memory" | grep -Eqx '0x[0-9a-fA-F]+,[0-9]+K,0x[0-9a-fA-F]+,[0-9]+K' ||
      fail "--memory is '$memory': give FLASH,SIZE,RAM,SIZE as in 0x08000000,512K,0x20000000,128K."
  fi
  setup tests
  reason=$(obstacle_of "$target")
  [ -z "$reason" ] || fail "cannot build $target: $reason."
  say "building fovea_board_bench for $target"
  compile "$target" "$target" fovea_board_bench "-DFOVEA_BENCH_MEMORY=$memory"
  program=build/$target/bench/fovea_board_bench.elf
  if [ -z "$memory" ]; then
    run_board_bench $words
    memory="that of QEMU's board; --memory FLASH,SIZE,RAM,SIZE builds it for another"
  fi
  say "for a real board: flash $program (memory: $memory); it prints over semihosting, so a debugger must be attached"
}

# The table goes to standard output, the JSON behind it into a file.
run_board_bench() {
  printed=build/$target/bench/printed.txt
  code=0
  "build/$target/bench/run-bench" "$@" >"$printed" || code=$?
  tr -d '\r' <"$printed" | sed '/^\[/,/^\]/d'
  [ "$code" -le 1 ] || exit "$code"
  case " $* " in *" --list "*) return ;; esac
  tr -d '\r' <"$printed" | sed -n '/^\[/,/^\]/p' >"$json" || fail "--json: cannot write $json."
  say "results: $json"
  [ "$code" = 0 ] || exit "$code"
}
