#!/usr/bin/env python3
"""ONNX Runtime and PyTorch beside fovea: one process, one thread, strictly one after another, checked against each other.

  python_peers.py PATH/TO/libfovea_shared.so [--filter TEXT] [--rounds N]

What is not installed is left out with a sentence (pip install numpy onnx onnxruntime torch). fovea is called through ctypes, and all pay
for the way out of Python; the head of the table says what an empty call through ctypes takes. Every result is compared with double
precision. Limits are those of fovea_bench, sampled in the same rounds: the FMA peak of the best ISA, and for decode reading K and V too.
Works of more than 5 ms are timed head by head, in turn.
"""
import argparse
import math
import os
import statistics
import sys
import time

for threads in ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
    os.environ[threads] = "1"

try:
    import numpy as np
except ImportError:
    sys.exit("python_peers: numpy is not installed: pip install numpy")

sys.dont_write_bytecode = True
from frameworks import Fovea, OnnxRuntime, PyTorch, aligned  # noqa: E402

# name, query heads, KV heads, dim, queries, keys, causal
WORKS = [(f"prefill 8x64 {n}", 8, 8, 64, n, n, False) for n in (16, 64, 128, 512, 2048)]
WORKS += [(f"prefill 8x{dim} 512", 8, 8, dim, 512, 512, False) for dim in (32, 128)]
WORKS += [(f"causal 8x64 {n}", 8, 8, 64, n, n, True) for n in (64, 128, 512, 2048)]
WORKS += [("tiny 4x16 32", 4, 4, 16, 32, 32, False), ("keyword spotting 2x32 98", 2, 2, 32, 98, 98, False),
          ("ViT-tiny 3x64 197", 3, 3, 64, 197, 197, False)]
WORKS += [(f"decode 8/8x64 {n}", 8, 8, 64, 1, n, False) for n in (128, 512, 2048, 8192)]
WORKS += [(f"decode GQA 8/2x64 {n}", 8, 2, 64, 1, n, False) for n in (128, 2048, 8192)]


def reference(q, k, v, causal):
    """In double, straight from the formula, for at most sixteen queries of each head: their numbers, and their results."""
    rows = np.unique(np.linspace(0, q.shape[1] - 1, 16).astype(int))
    group = len(q) // len(k)
    k, v = (np.repeat(array.astype(np.float64), group, 0) for array in (k, v))
    s = np.einsum("hid,hjd->hij", q[:, rows].astype(np.float64), k) / math.sqrt(q.shape[2])
    if causal:
        s[:, np.arange(k.shape[1])[None, :] > rows[:, None]] = -np.inf
    p = np.exp(s - s.max(-1, keepdims=True))
    return rows, np.einsum("hij,hjd->hid", p / p.sum(-1, keepdims=True), v)


def installed(path):
    peers = [Fovea(path)]
    for name, make in (("PyTorch", PyTorch), ("ONNX Runtime", lambda: OnnxRuntime(False)), ("ONNX Runtime", lambda: OnnxRuntime(True))):
        try:
            peers.append(make())
        except (ImportError, OSError) as missing:
            print(f"{name} is left out: {missing}")
    return peers


def prepared(peers, tensors, causal):
    """name -> what runs it, for those that take this work and give the right result."""
    rows, right = reference(*tensors, causal)
    ready = {}
    for peer in peers:
        try:
            made = peer.prepare(*tensors, causal)
        except Exception as refused:  # a peer may refuse in its own ways; the others go on
            print(f"{peer.name} is left out of the next work: {str(refused).splitlines()[0][:110]}")
            continue
        if made is None:
            continue
        run, result = made
        error = float(np.max(np.abs(result()[:, rows] - right)))
        if error < 1e-4:
            ready[peer.name] = run
        else:
            print(f"{peer.name} is left out of the next work: its result is off by {error:.1e}")
    return ready


def flops_of(work):
    _, q_heads, _, dim, queries, keys, causal = work
    return 4 * q_heads * queries * keys * dim * (0.5 if causal else 1)


def pieces_of(work, tensors):
    """The whole work, or its heads one by one where a call would take long."""
    long_call = work[1] == work[2] and flops_of(work) > 5e-3 * 100e9
    return [[array[h:h + 1] for array in tensors] for h in range(work[1])] if long_call else [tensors]


def sample(run, calls):
    start = time.perf_counter()
    for _ in range(calls):
        run()
    return (time.perf_counter() - start) / calls


class Limit:
    """What this core allows: multiply-adds at its peak, and for decode reading K and V once."""

    def __init__(self, library, work, keys, values):
        self.library, self.work, self.kept = library, work, np.concatenate([keys.ravel(), values.ravel()])
        self.bytes, self.seconds = self.kept.nbytes, []

    def sample(self):
        seconds = flops_of(self.work) / self.library.fovea_peers_peak()
        if self.work[4] == 1:
            passes = max(1, int(150e-6 * 50e9 / self.bytes))
            seconds = max(seconds, self.bytes / self.library.fovea_peers_read(self.kept.ctypes.data, self.bytes, passes))
        self.seconds.append(seconds)


def measure(pieces, limit, rounds):
    """pieces: for each piece of the work, name -> what runs it. name -> seconds of the whole work, one number a round."""
    calls, seconds = {}, {name: [] for name in pieces[0]}
    for name, run in pieces[0].items():
        sample(run, 2)
        calls[name] = max(1, math.ceil(200e-6 / sample(run, 1)))
    for turn in range(rounds):
        limit.sample()
        for name, run in pieces[turn % len(pieces)].items():
            seconds[name].append(sample(run, calls[name]) * len(pieces))
    return seconds


def quiet(samples):
    return sorted(samples)[len(samples) // 10]


def against_fastest(seconds):
    """Name of the fastest of the others, and how many times as fast fovea is."""
    medians = {peer: statistics.median(samples) for peer, samples in seconds.items()}
    ours = medians.pop("fovea")
    fastest = min(medians, key=medians.get)
    return f"{fastest:12} {medians[fastest] / ours:6.2f}"


def print_row(work, seconds, names, limit):
    ideal = statistics.median(limit.seconds)
    cells = []
    for peer in names:
        if peer not in seconds:
            cells.append(f"{'-':>26}")
            continue
        median = statistics.median(seconds[peer])
        cells.append(f"{median * 1e6:9.1f} {100 * ideal / median:6.1f} ({100 * ideal / quiet(seconds[peer]):6.1f})")
    best = against_fastest(seconds) if len(seconds) > 1 else ""
    print(f"{work[0]:26}" + "".join(f"  {cell}" for cell in cells) + f"  {best}", flush=True)


def run_work(work, peers, names, rounds):
    _, q_heads, kv_heads, dim, queries, keys, causal = work
    random = np.random.default_rng(1)
    shapes = ((q_heads, queries, dim), (kv_heads, keys, dim), (kv_heads, keys, dim))
    tensors = [aligned(random.standard_normal(shape, np.float32)) for shape in shapes]
    pieces = [prepared(peers, piece, causal) for piece in pieces_of(work, tensors)]
    limit = Limit(peers[0].library, work, *tensors[1:])
    print_row(work, measure(pieces, limit, rounds), names, limit)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("library")
    parser.add_argument("--filter", default="", help="only works whose name contains this")
    parser.add_argument("--rounds", type=int, default=32, help="samples of each result")
    given = parser.parse_args()
    if not os.path.exists(given.library):
        sys.exit(f"python_peers: there is no {given.library}: build the target fovea_peers, and give bench/peers/libfovea_shared.so of its folder")
    peers = installed(os.path.abspath(given.library))
    empty = sample(peers[0].library.fovea_version, 2000)
    names = [peer.name for peer in peers]
    print("one thread: median us, share of the limit in % (with the 10th percentile of the time); x: times as fast as the fastest other")
    print(", ".join(f"{peer.name} {peer.version}" for peer in peers) + f"; an empty call takes {empty * 1e6:.1f} us")
    print(f"{'work':26}" + "".join(f"  {name:>26}" for name in names) + f"  {'fastest':12} {'x':>6}")
    for work in WORKS:
        if given.filter.lower() in work[0].lower():
            run_work(work, peers, names, max(2, given.rounds))


if __name__ == "__main__":
    main()
