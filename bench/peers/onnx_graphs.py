"""Graphs for ONNX Runtime, as its own optimiser would leave them: an attention layer (QKV projection, attention, output projection) and the
encoder of MiniLM. Weights are [in][out], as MatMul takes them."""
import os
import tempfile

import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto, helper, numpy_helper

MICROSOFT = "com.microsoft"
KINDS = ("Attention", "MultiHeadAttention")  # two fused operators; which is faster depends on the length


class Graph:
    """Nodes and constants, one after another."""

    def __init__(self):
        self.nodes, self.constants = [], []

    def constant(self, name, array):
        self.constants.append(numpy_helper.from_array(np.ascontiguousarray(array), name))
        return name

    def node(self, operator, inputs, output, domain="", **attributes):
        self.nodes.append(helper.make_node(operator, inputs, [output] if isinstance(output, str) else output, domain=domain, **attributes))
        return output

    def linear(self, x, name, weights, bias):
        product = self.node("MatMul", [x, self.constant(name + "_w", weights)], name + "_product")
        return self.node("Add", [product, self.constant(name + "_b", bias)], name) if bias is not None else product

    def attention(self, x, name, kind, heads, qkv, qkv_bias):
        """Everything before the output projection."""
        if kind == "Attention":
            inputs = [x, self.constant(name + "_w", qkv), self.constant(name + "_b", qkv_bias)]
            return self.node("Attention", inputs, name, MICROSOFT, num_heads=heads)
        parts = [self.linear(x, f"{name}_{part}", weights, None) for part, weights in zip("qkv", np.split(qkv, 3, 1))]
        return self.node("MultiHeadAttention", parts + [self.constant(name + "_b", qkv_bias)], name, MICROSOFT, num_heads=heads)

    def model(self, inputs, output, shape):
        values = [helper.make_tensor_value_info(name, kind, dims) for name, kind, dims in inputs]
        graph = helper.make_graph(self.nodes, "peer", values, [helper.make_tensor_value_info(output, TensorProto.FLOAT, shape)], self.constants)
        opsets = [helper.make_opsetid("", 17), helper.make_opsetid(MICROSOFT, 1)]
        return helper.make_model(graph, opset_imports=opsets, ir_version=10)


def layer_graph(kind, tokens, heads, layer):
    graph = Graph()
    width = layer["qkv"].shape[0]
    rows = graph.attention("x", "attention", kind, heads, layer["qkv"], layer["qkv_bias"])
    out = graph.linear(rows, "y", layer["out"], layer["out_bias"])
    return graph.model([("x", TensorProto.FLOAT, [1, tokens, width])], out, [1, tokens, width])


def encoder_graph(kind, tokens, heads, model):
    """Token numbers to a vector of length 1: embeddings, layers with the norm behind each half, the mean of all tokens."""
    graph = Graph()
    places = model["positions"][None, :tokens] + model["types"][0]
    norm = [graph.constant("norm_w", model["norm"]), graph.constant("norm_b", model["norm_bias"])]
    words = graph.node("Gather", [graph.constant("words", model["words"]), "ids"], "looked_up")
    x = graph.node("SkipLayerNormalization", [words, graph.constant("places", places), *norm], "embedded", MICROSOFT, epsilon=1e-12)
    for n, layer in enumerate(model["layers"]):
        rows = graph.attention(x, f"attention{n}", kind, heads, layer["qkv"], layer["qkv_bias"])
        x = half(graph, f"out{n}", rows, x, layer["out"], layer["out_bias"], layer["norm"], layer["norm_bias"])
        up = graph.node("MatMul", [x, graph.constant(f"up{n}_w", layer["up"])], f"up{n}")
        gelu = graph.node("BiasGelu", [up, graph.constant(f"up{n}_b", layer["up_bias"])], f"gelu{n}", MICROSOFT)
        x = half(graph, f"down{n}", gelu, x, layer["down"], layer["down_bias"], layer["last"], layer["last_bias"])
    mean = graph.node("ReduceMean", [x], "mean", axes=[1], keepdims=0)
    out = graph.node("LpNormalization", [mean], "embedding", axis=1, p=2)
    return graph.model([("ids", TensorProto.INT32, [1, tokens])], out, [1, places.shape[2]])


def half(graph, name, rows, residual, weights, bias, norm, norm_bias):
    """A product, its bias, what went round it, and the norm of the sum."""
    product = graph.node("MatMul", [rows, graph.constant(name + "_w", weights)], name)
    inputs = [product, residual, graph.constant(name + "_norm", norm), graph.constant(name + "_norm_b", norm_bias), graph.constant(name + "_b", bias)]
    return graph.node("SkipLayerNormalization", inputs, name + "_normed", MICROSOFT, epsilon=1e-12)


def quantised(model, signed):
    """The same graph with dynamic int8: weights by tensor, rows of x by call, both as ONNX Runtime's own tool chooses."""
    import logging

    from onnxruntime.quantization import QuantType, quantize_dynamic
    logging.disable(logging.WARNING)  # it recommends a step that these graphs do not need
    with tempfile.TemporaryDirectory() as folder:
        source, target = os.path.join(folder, "floats.onnx"), os.path.join(folder, "integers.onnx")
        onnx.save(model, source)
        quantize_dynamic(source, target, weight_type=QuantType.QInt8 if signed else QuantType.QUInt8,
                         op_types_to_quantize=["MatMul", "Attention"],
                         extra_options={"DefaultTensorType": TensorProto.FLOAT})
        return onnx.load(target)


class Session:
    """A graph ready to run on one thread, on memory of its own."""

    def __init__(self, model, feed):
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = options.inter_op_num_threads = 1
        options.log_severity_level = 4
        session = onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
        binding, (name, array) = session.io_binding(), feed
        binding.bind_cpu_input(name, array)
        shape = session.get_outputs()[0].shape
        self.out = np.empty(shape, np.float32)
        binding.bind_output(session.get_outputs()[0].name, "cpu", 0, np.float32, shape, self.out.ctypes.data)
        run, self.kept = session.run_with_iobinding, (session, binding, array)
        self.run = lambda: run(binding)
        self.run()
