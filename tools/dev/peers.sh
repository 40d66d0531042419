# Part of ./dev: compares fovea with other libraries, as far as they are installed.
peers_packages="libeigen3-dev libopenblas-dev libdnnl-dev"

# peers [FILTER [ROUNDS]]: composed from the system's Eigen, OpenBLAS and oneDNN; then ONNX Runtime and PyTorch in PYTHON (python3), if it
# has them.
peers() {
  if [ "${1:-}" = layer ]; then
    shift
    peers_layer "$@"
    return
  fi
  setup host
  if have dpkg && ! dpkg -s $peers_packages >/dev/null 2>&1 && can_install; then install_packages $peers_packages; fi
  say "building fovea_peers"
  compile peers host fovea_peers -DFOVEA_BUILD_PEERS=ON -DFOVEA_BUILD_TESTS=OFF -DFOVEA_BUILD_EXAMPLES=OFF -DFOVEA_BUILD_TOOLS=OFF
  for isa in avx2 avx512; do
    [ ! -x "build/peers/bench/peers/fovea_peers_$isa" ] || "build/peers/bench/peers/fovea_peers_$isa" "$@" || return
  done
  "${PYTHON:-python3}" bench/peers/python_peers.py build/peers/bench/peers/libfovea_shared.so --filter "${1:-}" --rounds "${2:-32}"
}

# peers layer [narrow] [ARGUMENT...]: compares attention layers and the encoder of MiniLM with ONNX Runtime, which is installed into a folder of its
# own unless PYTHON names a Python that has it. narrow: ONNX Runtime as on a core without AVX-512 (x86, needs gdb).
peers_layer() {
  setup host
  python=${PYTHON:-}
  [ -n "$python" ] || python=$(peers_python)
  say "building fovea_shared"
  compile peers_layer host fovea_shared -DFOVEA_BUILD_PEERS=ON -DFOVEA_BUILD_COMPOSED_PEERS=OFF -DFOVEA_BUILD_TESTS=OFF \
    -DFOVEA_BUILD_EXAMPLES=OFF -DFOVEA_BUILD_TOOLS=OFF
  library=build/peers_layer/bench/peers/libfovea_shared.so
  if [ "${1:-}" = narrow ]; then
    shift
    have gdb && have objdump || fail "peers layer narrow needs gdb and objdump: install gdb and binutils."
    gdb -q -batch -nx -iex "set auto-load python-scripts off" -iex "set auto-load libthread-db off" -x bench/peers/without_avx512.py --args "$python" bench/peers/layer_peers.py "$library" --narrow "$@"
    return
  fi
  "$python" bench/peers/layer_peers.py "$library" "$@"
}

# A Python with the packages of bench/peers/requirements.txt; made once.
peers_python() {
  folder=build/peers_python
  if ! cmp -s bench/peers/requirements.txt "$folder/requirements.txt"; then
    say "installing ONNX Runtime into $folder"
    mkdir -p "$log_dir"
    {
      python3 -m venv "$folder" && "$folder/bin/pip" install -r bench/peers/requirements.txt
    } >"$log_dir/peers-python" 2>&1 || fail "ONNX Runtime cannot be installed: build/log/peers-python says why. Or name a Python that has it in PYTHON."
    cp bench/peers/requirements.txt "$folder/requirements.txt"
  fi
  echo "$folder/bin/python"
}
