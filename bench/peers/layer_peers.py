#!/usr/bin/env python3
"""Attention layers of MiniLM (384, 12 heads of 32) beside ONNX Runtime: one process, one thread, strictly one after another.

  layer_peers.py PATH/TO/libfovea_shared.so [--rounds N] [--tokens 16,64]

Projection to q, k and v, attention, projection of the result. fovea in float32 and in int8, ONNX Runtime in float32 and with its dynamic int8,
each as the fastest of the graphs in onnx_graphs.py. Every result is compared with double precision. A sample is some calls in a row; samples
take turns. Both sides pay for the way out of Python; the head of the table says what an empty call takes.
"""
import argparse
import ctypes
import math
import os
import statistics
import sys
import time

for threads in ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
    os.environ[threads] = "1"
sys.dont_write_bytecode = True

try:
    import numpy as np
    import onnxruntime
    from onnx import TensorProto, helper
    from onnx_graphs import KINDS, Graph, Session, layer_graph, quantised
except ImportError as missing:
    sys.exit(f"layer_peers: {missing}: pip install numpy onnx onnxruntime")
from frameworks import aligned  # noqa: E402

WIDTH, HEADS = 384, 12
LENGTHS = (16, 64, 128, 256)
FLOAT_ISAS, FIXED_ISAS = ("avx2", "avx512", "neon64"), ("avx2", "avxvnni", "avx512vnni", "neon", "dotprod", "i8mm")


def random_layer(random):
    """Weights as large as those of a trained layer, [in][out]."""
    def numbers(*shape):
        return (random.standard_normal(shape) * 0.05).astype(np.float32)
    return {"qkv": numbers(WIDTH, 3 * WIDTH), "qkv_bias": numbers(3 * WIDTH), "out": numbers(WIDTH, WIDTH), "out_bias": numbers(WIDTH)}


def reference(layer, x):
    x, layer = x[0].astype(np.float64), {name: array.astype(np.float64) for name, array in layer.items()}
    q, k, v = (part.reshape(len(x), HEADS, -1).transpose(1, 0, 2) for part in np.split(x @ layer["qkv"] + layer["qkv_bias"], 3, 1))
    s = q @ k.transpose(0, 2, 1) / math.sqrt(q.shape[2])
    p = np.exp(s - s.max(-1, keepdims=True))
    rows = (p / p.sum(-1, keepdims=True) @ v).transpose(1, 0, 2).reshape(len(x), -1)
    return rows @ layer["out"] + layer["out_bias"]


class Library:
    def __init__(self, path):
        self.calls = ctypes.CDLL(path)
        self.calls.fovea_peers_layer.restype = ctypes.c_void_p
        self.calls.fovea_peers_layer.argtypes = [ctypes.c_int32] * 6 + [ctypes.c_void_p] * 4
        self.calls.fovea_peers_run_layer.argtypes = [ctypes.c_void_p] * 3
        self.calls.fovea_peers_drop_layer.argtypes = [ctypes.c_void_p]
        for name in ("fovea_isa_name", "fovea_fixed_isa_name"):
            getattr(self.calls, name).restype = ctypes.c_char_p

    def isas(self, wanted, has, name):
        """name -> number, of those that this machine has."""
        found = {name(isa).decode(): isa for isa in range(1, 32) if has(isa) == 1}
        return {isa: found[isa] for isa in wanted if isa in found}

    def floats(self):
        return self.isas(FLOAT_ISAS, self.calls.fovea_has_isa, self.calls.fovea_isa_name)

    def integers(self):
        return self.isas(FIXED_ISAS, self.calls.fovea_fixed_has_isa, self.calls.fovea_fixed_isa_name)


class FoveaLayer:
    def __init__(self, library, layer, x, isa, fixed_isa):
        weights = [np.ascontiguousarray(layer["qkv"].T), layer["qkv_bias"], np.ascontiguousarray(layer["out"].T), layer["out_bias"]]
        self.out = aligned(np.full(x.shape, np.nan, np.float32))
        made = library.calls.fovea_peers_layer(x.shape[1], WIDTH, HEADS, int(fixed_isa != 0), isa, fixed_isa, *(w.ctypes.data for w in weights))
        run, at, to = library.calls.fovea_peers_run_layer, x.ctypes.data, self.out.ctypes.data
        self.kept = (library, x)
        status = run(made, at, to)
        if status:
            sys.exit(f"layer_peers: fovea refuses the layer with status {status:#06x}")
        self.run = lambda: run(made, at, to)


def sample(run, calls):
    """CPU time: other programs that interrupt a sample do not count."""
    start = time.thread_time()
    for _ in range(calls):
        run()
    return (time.thread_time() - start) / calls


def checked(name, made, right, limit):
    error = float(np.abs(made.out.reshape(right.shape) - right).max()) / float(np.abs(right).max())
    if not error < limit:
        sys.exit(f"layer_peers: {name} is off by {error:.1e} of the largest number")
    return made


def contenders(library, layer, x):
    """class -> name -> what runs it. Graphs that are far from the fastest of their class are left out."""
    right, feed = reference(layer, x), ("x", x)
    graphs = {kind: layer_graph(kind, x.shape[1], HEADS, layer) for kind in KINDS}
    classes = {"f32": {}, "int8": {}}
    for kind, graph in graphs.items():
        classes["f32"][f"ORT {kind}"] = checked(kind, Session(graph, feed), right, 1e-4)
        for signed in (True, False):
            name = f"ORT {kind}, {'s8' if signed else 'u8'}"
            classes["int8"][name] = checked(name, Session(quantised(graph, signed), feed), right, 0.2)
    for of_class in classes.values():
        trial = {name: min(sample(made.run, 2) for _ in range(5)) for name, made in of_class.items()}
        for name in [name for name in trial if trial[name] > 1.3 * min(trial.values())]:
            del of_class[name]
    best = max(library.floats().values(), default=0)
    for name, isa in library.floats().items():
        classes["f32"][name] = checked(name, FoveaLayer(library, layer, x, isa, 0), right, 1e-4)
    for name, isa in library.integers().items():
        floats = library.floats().get("avx2", best) if name in ("avx2", "avxvnni") else 0
        classes["int8"][name] = checked(name, FoveaLayer(library, layer, x, floats, isa), right, 0.2)
    return classes


def measure(classes, rounds):
    """(class, name) -> seconds, one number a round."""
    runs = {(kind, name): made.run for kind, of_class in classes.items() for name, made in of_class.items()}
    calls = {key: max(1, math.ceil(300e-6 / min(sample(run, 2) for _ in range(3)))) for key, run in runs.items()}
    seconds = {key: [] for key in runs}
    for _ in range(rounds):
        for key, run in runs.items():
            seconds[key].append(sample(run, calls[key]))
    return seconds


def quiet(samples):
    return sorted(samples)[len(samples) // 10]


def print_class(tokens, kind, seconds):
    """One line for each ISA of fovea: its time, that of the fastest graph, and how many times as fast fovea is."""
    of_class = {name: samples for (its_kind, name), samples in seconds.items() if its_kind == kind}
    theirs = {name: samples for name, samples in of_class.items() if name.startswith("ORT")}
    fastest = min(theirs, key=lambda name: statistics.median(theirs[name]))
    best, best_quiet = statistics.median(theirs[fastest]), min(map(quiet, theirs.values()))
    for name, samples in of_class.items():
        if name in theirs:
            continue
        median = statistics.median(samples)
        print(f"{tokens:6}  {kind:5} {name:11} {median * 1e6:9.1f} {best * 1e6:9.1f} {best / median:7.2f} ({best_quiet / quiet(samples):5.2f})  {fastest}",
              flush=True)


def empty_call():
    graph = Graph()
    graph.node("Neg", ["x"], "y")
    session = Session(graph.model([("x", TensorProto.FLOAT, [1])], "y", [1]), ("x", np.zeros(1, np.float32)))
    return min(sample(session.run, 200) for _ in range(20))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("library")
    parser.add_argument("--rounds", type=int, default=31, help="samples of each result")
    parser.add_argument("--tokens", default=",".join(map(str, LENGTHS)), help="lengths, with commas between")
    given = parser.parse_args()
    if not os.path.exists(given.library):
        sys.exit(f"layer_peers: there is no {given.library}: build the target fovea_shared, and give bench/peers/libfovea_shared.so of its folder")
    library = Library(os.path.abspath(given.library))
    ours = min(sample(library.calls.fovea_version, 2000) for _ in range(20))
    print(f"attention layer of {WIDTH} ({HEADS} x {WIDTH // HEADS}), one thread: median us of CPU time; x: times as fast (with the 10th percentiles)")
    print(f"ONNX Runtime {onnxruntime.__version__} on its best ISA here; an empty call: fovea {ours * 1e6:.1f} us, ONNX Runtime {empty_call() * 1e6:.1f} us")
    print(f"{'tokens':>6}  {'class':5} {'fovea on':11} {'fovea':>9} {'ORT':>9} {'x':>7} {'':7}  fastest graph")
    random = np.random.default_rng(1)
    layer = random_layer(random)
    for tokens in map(int, given.tokens.split(",")):
        x = aligned(random.standard_normal((1, tokens, WIDTH), np.float32))
        seconds = measure(contenders(library, layer, x), max(2, given.rounds))
        for kind in ("f32", "int8"):
            print_class(tokens, kind, seconds)


if __name__ == "__main__":
    main()
