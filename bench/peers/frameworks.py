"""What python_peers.py compares: fovea through ctypes, PyTorch, ONNX Runtime. Each prepares a call: a function that runs it, and one that
gives the result; or None where it has no such operator."""
import ctypes
import sys

import numpy as np

CAUSAL = 1


class Tensor(ctypes.Structure):
    """fovea_in; its first and its last fields are all that is used here."""
    _fields_ = [("data", ctypes.c_void_p), ("scales", ctypes.c_void_p), ("strides", ctypes.c_ssize_t * 4), ("kinds", ctypes.c_int32 * 4)]


class Result(ctypes.Structure):
    _fields_ = [("data", ctypes.c_void_p), ("strides", ctypes.c_ssize_t * 2), ("scale", ctypes.c_float), ("kinds", ctypes.c_int32 * 3)]


class Call(ctypes.Structure):
    """fovea_attention as far as it is used, then room for the rest of it, all zero."""
    _fields_ = [("q", Tensor), ("k", Tensor), ("v", Tensor), ("out", Result)]
    _fields_ += [(name, ctypes.c_int32) for name in "q_heads kv_heads dim v_dim queries keys first_key flags".split()]
    _fields_ += [("rest", ctypes.c_char * 512)]


def aligned(array):
    """The same numbers where a framework's own allocator would put them: at a multiple of 64 bytes."""
    room = np.empty(array.nbytes + 64, np.uint8)
    at = -room.ctypes.data % 64
    moved = room[at:at + array.nbytes].view(array.dtype).reshape(array.shape)
    moved[...] = array
    return moved


class Fovea:
    name = "fovea"

    def __init__(self, path):
        try:
            self.library = ctypes.CDLL(path)
        except OSError as broken:
            sys.exit(f"python_peers: {path} does not load ({broken}): build the target fovea_peers again")
        self.library.fovea_scratch_best.restype = ctypes.c_size_t
        self.library.fovea_peers_peak.restype = self.library.fovea_peers_read.restype = ctypes.c_double
        self.library.fovea_peers_read.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int32]
        self.library.fovea_isa_name.restype = ctypes.c_char_p
        self.library.fovea_attend.argtypes = [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_size_t]
        self.version = f"{self.library.fovea_version()}, {self.library.fovea_isa_name(self.library.fovea_isa()).decode()}"

    def prepare(self, q, k, v, causal):
        out = aligned(np.full_like(q, np.nan))
        call = Call()
        for tensor, array in ((call.q, q), (call.k, k), (call.v, v), (call.out, out)):
            tensor.data = array.ctypes.data
        call.q_heads, call.queries, call.dim = q.shape
        call.kv_heads, call.keys = k.shape[:2]
        call.flags = CAUSAL if causal else 0
        size = self.library.fovea_scratch_best(ctypes.byref(call))
        scratch = np.empty(size + 64, np.uint8)
        at = scratch.ctypes.data + -scratch.ctypes.data % 64
        status = self.library.fovea_attend(ctypes.byref(call), at, size)
        if status:
            sys.exit(f"python_peers: fovea refuses the call with status {status}; is the library as old as the header?")
        attend, address = self.library.fovea_attend, ctypes.addressof(call)
        kept = (call, scratch, out)
        return lambda: attend(address, at, size) and kept, lambda: out


class PyTorch:
    name = "PyTorch"

    def __init__(self):
        import torch
        torch.set_num_threads(1)
        self.torch, self.version = torch, torch.__version__

    def prepare(self, q, k, v, causal):
        torch = self.torch
        attention = torch.nn.functional.scaled_dot_product_attention
        q, k, v = (torch.from_numpy(array)[None] for array in (q, k, v))
        result = [None]

        def run():
            with torch.inference_mode():
                result[0] = attention(q, k, v, is_causal=causal, enable_gqa=q.shape[1] != k.shape[1])

        run()
        return run, lambda: result[0][0].numpy()


class OnnxRuntime:
    """Its own fused operator where it fits, and the standard one; the faster counts."""

    def __init__(self, standard):
        import onnx
        import onnxruntime
        self.onnx, self.runtime, self.standard = onnx, onnxruntime, standard
        self.name, self.version = "ORT standard" if standard else "ORT fused", onnxruntime.__version__

    def session(self, nodes, opsets, shapes, out_shape):
        from onnx import TensorProto, helper
        inputs = [helper.make_tensor_value_info(name, TensorProto.FLOAT, shape) for name, shape in shapes.items()]
        graph = helper.make_graph(nodes, "attention", inputs, [helper.make_tensor_value_info("out", TensorProto.FLOAT, out_shape)])
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid(*opset) for opset in opsets], ir_version=10)
        options = self.runtime.SessionOptions()
        options.intra_op_num_threads = options.inter_op_num_threads = 1
        options.log_severity_level = 4
        return self.runtime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])

    def prepare(self, q, k, v, causal):
        from onnx import helper
        heads, queries, dim = q.shape
        if self.standard:
            node = helper.make_node("Attention", ["q", "k", "v"], ["out"], is_causal=int(causal))
            feed = {"q": q[None], "k": k[None], "v": v[None]}
            out_shape, opsets = [1, heads, queries, dim], [("", 23)]
        else:
            if len(k) != heads:
                return None  # the fused operator for fewer KV heads copies its cache in every call
            node = helper.make_node("MultiHeadAttention", ["q", "k", "v"], ["out"], domain="com.microsoft", num_heads=heads,
                                    unidirectional=int(causal))
            feed = {name: np.ascontiguousarray(array.transpose(1, 0, 2)).reshape(1, array.shape[1], -1)
                    for name, array in (("q", q), ("k", k), ("v", v))}
            out_shape, opsets = [1, queries, heads * dim], [("", 17), ("com.microsoft", 1)]
        session = self.session([node], opsets, {name: array.shape for name, array in feed.items()}, out_shape)
        binding = session.io_binding()
        for name, array in feed.items():
            binding.bind_cpu_input(name, array)
        out = np.empty(out_shape, np.float32)
        binding.bind_output("out", "cpu", 0, np.float32, out_shape, out.ctypes.data)

        def result():
            return out[0] if self.standard else out.reshape(queries, heads, dim).transpose(1, 0, 2)

        def run():
            session.run_with_iobinding(binding)
            return feed, out  # whoever keeps the function keeps the memory it works on

        run()
        return run, result
