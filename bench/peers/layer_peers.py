#!/usr/bin/env python3
"""Attention layers of MiniLM (384, 12 heads of 32) and its whole encoder beside ONNX Runtime: one process, one thread, strictly one after
another.

  layer_peers.py PATH/TO/libfovea_shared.so [--rounds N] [--works layer,model] [--tokens 16,64]

A layer is the projection to q, k and v, the attention, and the projection of its result. fovea runs in float32 and with int8 weights, ONNX
Runtime in float32 and with its dynamic int8, each as the fastest of the graphs in onnx_graphs.py. Results are compared with double precision
(layers) and with each other (encoder). Weights are random. Samples are some calls in a row, and take turns. Both sides pay for the way out of
Python; the head of the table says what an empty call takes.
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
    from onnx import TensorProto
    from onnx_graphs import KINDS, Graph, Session, encoder_graph, layer_graph, quantised
except ImportError as missing:
    sys.exit(f"layer_peers: {missing}: pip install numpy onnx onnxruntime")
from frameworks import aligned  # noqa: E402

WIDTH, HEADS, INNER, LAYERS, VOCABULARY, POSITIONS = 384, 12, 1536, 6, 30522, 512
LENGTHS = {"layer": (16, 64, 128, 256), "model": (16, 64, 256)}
FLOAT_ISAS, FIXED_ISAS = ("avx2", "avx512", "neon64"), ("avx2", "avxvnni", "avx512vnni", "neon", "dotprod", "i8mm")
PRODUCTS = ("qkv", "out", "up", "down")
NORMS = ("norm", "norm_bias", "last", "last_bias")


def numbers(random, *shape, mean=0.0):
    return (random.standard_normal(shape) * 0.05 + mean).astype(np.float32)


def random_layer(random):
    """Weights as large as those of a trained layer, [in][out]."""
    shapes = {"qkv": (WIDTH, 3 * WIDTH), "out": (WIDTH, WIDTH), "up": (WIDTH, INNER), "down": (INNER, WIDTH)}
    layer = {}
    for name, shape in shapes.items():
        layer[name], layer[name + "_bias"] = numbers(random, *shape), numbers(random, shape[1])
    for name in NORMS:
        layer[name] = numbers(random, WIDTH, mean=0.0 if "bias" in name else 1.0)
    return layer


def random_model(random):
    model = {name: numbers(random, rows, WIDTH) for name, rows in (("words", VOCABULARY), ("positions", POSITIONS), ("types", 2))}
    model["norm"], model["norm_bias"] = numbers(random, WIDTH, mean=1.0), numbers(random, WIDTH)
    model["layers"] = [random_layer(random) for _ in range(LAYERS)]
    return model


def reference(layer, x):
    """The layer in double precision, from its formula."""
    x, layer = x[0].astype(np.float64), {name: array.astype(np.float64) for name, array in layer.items()}
    q, k, v = (part.reshape(len(x), HEADS, -1).transpose(1, 0, 2) for part in np.split(x @ layer["qkv"] + layer["qkv_bias"], 3, 1))
    s = q @ k.transpose(0, 2, 1) / math.sqrt(q.shape[2])
    p = np.exp(s - s.max(-1, keepdims=True))
    rows = (p / p.sum(-1, keepdims=True) @ v).transpose(1, 0, 2).reshape(len(x), -1)
    return rows @ layer["out"] + layer["out_bias"]


class Library:
    def __init__(self, path):
        self.calls = calls = ctypes.CDLL(path)
        pointer, number = ctypes.c_void_p, ctypes.c_int32
        calls.fovea_peers_layer.argtypes = [number] * 7 + [pointer] * 4
        calls.fovea_peers_encoder.argtypes = [number] * 5 + [pointer]
        calls.fovea_peers_layer.restype = calls.fovea_peers_encoder.restype = pointer
        calls.fovea_peers_run_layer.argtypes = [pointer] * 3
        calls.fovea_peers_encode.argtypes = [pointer, pointer, number, pointer]
        calls.fovea_isa_name.restype = calls.fovea_fixed_isa_name.restype = ctypes.c_char_p

    @staticmethod
    def isas(wanted, has, name):
        """name -> number, of those that this machine has."""
        found = {name(isa).decode(): isa for isa in range(1, 32) if has(isa) == 1}
        return {isa: found[isa] for isa in wanted if isa in found}

    def variants(self, narrow):
        """class, name, int8 weights, int8 attention, ISA, integer ISA."""
        float_isas, fixed_isas = (("avx2",), ("avx2",)) if narrow else (FLOAT_ISAS, FIXED_ISAS)
        floats = self.isas(float_isas, self.calls.fovea_has_isa, self.calls.fovea_isa_name)
        integers = self.isas(fixed_isas, self.calls.fovea_fixed_has_isa, self.calls.fovea_fixed_isa_name)
        for name, isa in floats.items():
            yield "f32", name, 0, 0, isa, 0
        for name, isa in integers.items():
            beside = floats.get("avx2", 0) if name in ("avx2", "avxvnni") else 0
            yield "int8", name, 1, 0, beside, isa
            yield "int8", name + ", int8 attention", 1, 1, beside, isa


class Runner:
    """What a contender is: run() and the array that it writes."""

    def __init__(self, name, out, run, *kept):
        self.out, self.run, self.kept = out, run, kept
        status = run()
        if status:
            sys.exit(f"layer_peers: fovea refuses {name} with status {status:#06x}")


def fovea_layer(library, layer, x, name, how):
    weights = [np.ascontiguousarray(layer["qkv"].T), layer["qkv_bias"], np.ascontiguousarray(layer["out"].T), layer["out_bias"]]
    out = aligned(np.full(x.shape, np.nan, np.float32))
    made = library.calls.fovea_peers_layer(x.shape[1], WIDTH, HEADS, *how, *(w.ctypes.data for w in weights))
    run, at, to = library.calls.fovea_peers_run_layer, x.ctypes.data, out.ctypes.data
    return Runner(name, out, lambda: run(made, at, to), x, weights)


def fovea_encoder(library, model, ids, name, how):
    arrays = [model[name] for name in ("words", "positions", "types", "norm", "norm_bias")]
    for layer in model["layers"]:
        for product in PRODUCTS:
            arrays += [np.ascontiguousarray(layer[product].T), layer[product + "_bias"]]
        arrays += [layer[norm] for norm in NORMS]
    pointers = (ctypes.c_void_p * len(arrays))(*(array.ctypes.data for array in arrays))
    made = library.calls.fovea_peers_encoder(VOCABULARY, *how, pointers)
    out = aligned(np.full((1, WIDTH), np.nan, np.float32))
    run, at, tokens, to = library.calls.fovea_peers_encode, ids.ctypes.data, ids.shape[1], out.ctypes.data
    return Runner(name, out, lambda: run(made, at, tokens, to), ids, arrays)


def sample(run, calls):
    """CPU time: other programs that interrupt a sample do not count."""
    start = time.thread_time()
    for _ in range(calls):
        run()
    return (time.thread_time() - start) / calls


def add(of_class, name, made, right, limit):
    """Takes a contender whose largest error is below a share of the largest number."""
    error = float(np.abs(made.out.reshape(right.shape) - right).max()) / float(np.abs(right).max())
    if not error < limit:
        sys.exit(f"layer_peers: {name} is off by {error:.1e} of the largest number")
    of_class[name] = made


def contenders(variants, graph_of, feed, right, prepare):
    """class -> name -> what runs it. Graphs that are far from the fastest of their class are left out."""
    classes = {"f32": {}, "int8": {}}
    for kind in KINDS:
        graph = graph_of(kind)
        made = Session(graph, feed)
        right = made.out.astype(np.float64) if right is None else right
        add(classes["f32"], f"ORT {kind}", made, right, 1e-4)
        for sign in ("s8", "u8"):
            add(classes["int8"], f"ORT {kind}, {sign}", Session(quantised(graph, sign == "s8"), feed), right, 0.3)
    for of_class in classes.values():
        trial = {name: min(sample(made.run, 2) for _ in range(5)) for name, made in of_class.items()}
        for name in [name for name in trial if trial[name] > 1.2 * min(trial.values())]:
            del of_class[name]
    for kind, name, *how in variants:
        add(classes[kind], name, prepare(name, how), right, 1e-4 if kind == "f32" else 0.3)
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


def print_class(work, kind, seconds):
    """One line for each way of fovea: its time, that of the fastest graph, and how many times as fast fovea is."""
    of_class = {name: samples for (its_kind, name), samples in seconds.items() if its_kind == kind}
    theirs = {name: samples for name, samples in of_class.items() if name.startswith("ORT")}
    fastest = min(theirs, key=lambda name: statistics.median(theirs[name]))
    best, best_quiet = statistics.median(theirs[fastest]), min(map(quiet, theirs.values()))
    for name, samples in of_class.items():
        if name in theirs:
            continue
        median = statistics.median(samples)
        print(f"{work:10} {kind:5} {name:26} {median * 1e6:9.1f} {best * 1e6:9.1f} {best / median:6.2f} ({best_quiet / quiet(samples):5.2f})  {fastest}",
              flush=True)


def empty_call():
    graph = Graph()
    graph.node("Neg", ["x"], "y")
    session = Session(graph.model([("x", TensorProto.FLOAT, [1])], "y", [1]), ("x", np.zeros(1, np.float32)))
    return min(sample(session.run, 200) for _ in range(20))


def prepared(work, tokens, library, variants, random, model):
    if work == "layer":
        layer = model["layers"][0]
        x = aligned(random.standard_normal((1, tokens, WIDTH), np.float32))
        return contenders(variants, lambda kind: layer_graph(kind, tokens, HEADS, layer), ("x", x), reference(layer, x),
                          lambda name, how: fovea_layer(library, layer, x, name, how))
    ids = random.integers(0, VOCABULARY, (1, tokens), np.int32)
    return contenders(variants, lambda kind: encoder_graph(kind, tokens, HEADS, model), ("ids", ids), None,
                      lambda name, how: fovea_encoder(library, model, ids, name, how))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("library")
    parser.add_argument("--rounds", type=int, default=31, help="samples of each result")
    parser.add_argument("--works", default="layer,model", help="layer, model, or both with a comma between")
    parser.add_argument("--tokens", help="lengths, with commas between")
    parser.add_argument("--narrow", action="store_true", help="only ISAs up to AVX2, because ONNX Runtime has no more here (without_avx512.py)")
    given = parser.parse_args()
    if not os.path.exists(given.library):
        sys.exit(f"layer_peers: there is no {given.library}: build the target fovea_shared, and give bench/peers/libfovea_shared.so of its folder")
    library = Library(os.path.abspath(given.library))
    ours = min(sample(library.calls.fovea_version, 2000) for _ in range(20))
    print(f"layer: {WIDTH} ({HEADS} x {WIDTH // HEADS}); model: {LAYERS} layers with MLPs of {INNER}. One thread: median us of CPU time; x: times as fast"
          " (with the 10th percentiles)")
    chosen = "without AVX-512" if given.narrow else "on the ISA that it chooses"
    print(f"ONNX Runtime {onnxruntime.__version__} {chosen}; an empty call: fovea {ours * 1e6:.1f} us, ONNX Runtime {empty_call() * 1e6:.1f} us")
    print(f"{'tokens':10} {'class':5} {'fovea':26} {'fovea us':>9} {'ORT us':>9} {'x':>6} {'':7}  fastest graph")
    random = np.random.default_rng(1)
    model = random_model(random)
    variants = list(library.variants(given.narrow))
    for work in given.works.split(","):
        lengths = [int(n) for n in given.tokens.split(",")] if given.tokens else LENGTHS[work]
        for tokens in lengths:
            seconds = measure(prepared(work, tokens, library, variants, random, model), max(2, given.rounds))
            for kind in ("f32", "int8"):
                print_class(f"{work} {tokens}", kind, seconds)


if __name__ == "__main__":
    main()
