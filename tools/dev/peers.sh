# Part of ./dev: fovea beside what one would use instead, as far as it is installed.
peers_packages="libeigen3-dev libopenblas-dev libdnnl-dev"

# peers [FILTER [ROUNDS]]: composed from the system's Eigen, OpenBLAS and oneDNN; then ONNX Runtime and PyTorch in PYTHON (python3), if it
# has them.
peers() {
  setup host
  if have dpkg && ! dpkg -s $peers_packages >/dev/null 2>&1 && can_install; then install_packages $peers_packages; fi
  say "building fovea_peers"
  compile peers host fovea_peers -DFOVEA_BUILD_PEERS=ON -DFOVEA_BUILD_TESTS=OFF -DFOVEA_BUILD_EXAMPLES=OFF -DFOVEA_BUILD_TOOLS=OFF
  for isa in avx2 avx512; do
    [ ! -x "build/peers/bench/peers/fovea_peers_$isa" ] || "build/peers/bench/peers/fovea_peers_$isa" "$@" || return
  done
  "${PYTHON:-python3}" bench/peers/python_peers.py build/peers/bench/peers/libfovea_shared.so --filter "${1:-}" --rounds "${2:-32}"
}
