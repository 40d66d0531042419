# Part of ./dev: real models, all-MiniLM-L6-v2 and stories260K, fetched once into the download cache.

# Prints the folder of the model: FOVEA_MODEL_DIR, or the cache.
model_folder() {
  if [ -n "${FOVEA_MODEL_DIR:-}" ]; then
    echo "$FOVEA_MODEL_DIR"
  else
    cmake -DPROJECT_BINARY_DIR="$root/build" -P tools/cmake/fetch_model.cmake 2>"$log_dir/model"
  fi
}

# demo_model [ARG...]: `fovea bank`, then how near two sentences are to a question.
demo_model() {
  say "fetching all-MiniLM-L6-v2, unless it is here"
  folder=$(model_folder) || fail "the model could not be fetched: put model.safetensors and vocab.txt into a folder and name it in FOVEA_MODEL_DIR."
  build/host/tools/fovea bank --model "$folder" "$@" || return
  question="Where do I keep my money?"
  for int8 in "" --int8; do
    printf '\nDot products with the embedding of "%s": fovea embed%s\n' "$question" "${int8:+ $int8}"
    for sentence in "money in the bank" "the bank of the river"; do
      printf '%s\n' "$question" "$sentence" | build/host/tools/fovea embed --model "$folder" $int8 |
        awk -v sentence="$sentence" 'NR == 1 { split($0, q) } NR == 2 { for (i = 1; i <= NF; ++i) dot += q[i] * $i; printf "  %.3f  %s\n", dot, sentence }'
    done
  done
}

# The embeddings have the bits that are written down, and the tokens are those of the reference where Python has it. Code 77: no model.
check_model() {
  have python3 || { echo "no python3, so all-MiniLM-L6-v2 was not run" && return 77; }
  folder=$(model_folder) || { echo "all-MiniLM-L6-v2 could not be fetched, so it was not run" && return 77; }
  tools/check/minilm build/host/tools/fovea "$folder"
}

# A Python of our own with numpy and tokenizers: sets python.
set_python() {
  python=build/python/bin/python
  if ! { [ -x "$python" ] || python3 -m venv build/python; } >"$log_dir/python" 2>&1 ||
    ! "$python" -m pip install --quiet --disable-pip-version-check numpy tokenizers >>"$log_dir/python" 2>&1; then
    say "prove: numpy and tokenizers could not be installed, so nothing was compared with them; see build/log/python."
    return 1
  fi
}

# prove_llama: decoders of small shapes and of SmolLM2-135M's against float64.
prove_llama() {
  set_python || return 0
  "$python" tools/check/llama build/host/tools/fovea
  "$python" tools/check/llama --full build/host/tools/fovea
}

# prove_model: 200 sentences against float64, 10,000 lines against the reference tokenizer.
prove_model() {
  folder=$(model_folder) || { say "prove: all-MiniLM-L6-v2 could not be fetched, so it was not run." && return; }
  tools/check/minilm build/host/tools/fovea "$folder"
  set_python || return 0
  "$python" tools/check/tokenizer build/host/tools/fovea "$folder"
  "$python" tools/check/minilm --accuracy 200 build/host/tools/fovea "$folder"
  for target in a53 a72 a76; do
    reason=$(obstacle_of "$target")
    if [ -n "$reason" ]; then
      say "prove: the model was not run on $target: $reason."
    else
      say "the model on $target, emulated"
      compile "$target-tools" "$target" fovea_tool -DFOVEA_BUILD_TOOLS=ON -DFOVEA_BUILD_TESTS=OFF -DCMAKE_EXE_LINKER_FLAGS=-static
      tools/check/minilm --runner "$(emulator_of "$target") -cpu $(cpu_of "$target")" "build/$target-tools/tools/fovea" "$folder"
    fi
  done
}

# Prints the folder of stories260K: FOVEA_STORIES_DIR, or beside the project, or the cache.
stories_folder() {
  beside=$root/../shared/models/stories260K
  if [ -n "${FOVEA_STORIES_DIR:-}" ]; then
    echo "$FOVEA_STORIES_DIR"
  elif [ -f "$beside/stories260K.bin" ] && [ -f "$beside/tok512.bin" ]; then
    echo "$beside"
  else
    cmake -DPROJECT_BINARY_DIR="$root/build" -DMODEL=stories260K -P tools/cmake/fetch_model.cmake 2>"$log_dir/stories"
  fi
}

# stories [ARG...]: the model writes a story.
stories() {
  setup host
  say "building fovea"
  build host fovea_tool
  folder=$(stories_folder) || fail "stories260K could not be fetched: put stories260K.bin and tok512.bin into a folder and name it in FOVEA_STORIES_DIR."
  exec build/host/tools/fovea stories --model "$folder" "$@"
}

# check_stories TARGET: the story and its logits have the bits that are written down, here and on boards. Code 77: no model.
check_stories() {
  have python3 || { echo "no python3, so stories260K was not run" && return 77; }
  folder=$(stories_folder) || { echo "stories260K could not be fetched, so it was not run" && return 77; }
  [ -x build/host/tools/fovea ] || { echo "fovea was not built for this machine, so nothing was packed for $1" && return 77; }
  if [ "$1" = host ]; then
    tools/check/stories build/host/tools/fovea "$folder"
  else
    tools/check/stories --board "$1" build/host/tools/fovea "$folder"
  fi
}
