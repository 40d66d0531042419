"""Llama's decoder in float64, as its paper and the configuration say: what `fovea stories` is compared with. And
seeded random models, written as transformers saves them."""
import json
import os
import struct

import numpy as np

DTYPES = {"F32": 4, "F16": 2, "BF16": 2}


def config_of(**given):
    """A config.json of Llama; `given` replaces or adds fields."""
    config = {
        "architectures": ["LlamaForCausalLM"], "model_type": "llama", "hidden_act": "silu", "hidden_size": 48,
        "intermediate_size": 80, "num_hidden_layers": 3, "num_attention_heads": 6, "num_key_value_heads": 2,
        "vocab_size": 61, "max_position_embeddings": 96, "rms_norm_eps": 1e-5, "rope_theta": 10000.0, "rope_scaling": None,
        "tie_word_embeddings": True, "torch_dtype": "float32", "eos_token_id": [1, 2],
    }
    config.update(given)
    return config


SMOLLM2_135M = config_of(hidden_size=576, intermediate_size=1536, num_hidden_layers=30, num_attention_heads=9, num_key_value_heads=3,
                         vocab_size=49152, max_position_embeddings=8192, rope_theta=100000)


def head_dim(config):
    return config.get("head_dim") or config["hidden_size"] // config["num_attention_heads"]


def random_tensors(config, seed, bias=False):
    """Name and float32 of each tensor, drawn so that attention is neither flat nor a single key."""
    draw = np.random.default_rng(seed)
    added = 1.7 / (2 * config["num_hidden_layers"])**0.5  # the less, the more often something is added to x
    width, hidden, words = config["hidden_size"], config["intermediate_size"], config["vocab_size"]
    q, kv = (config[name] * head_dim(config) for name in ("num_attention_heads", "num_key_value_heads"))

    def matrix(rows, columns, gain=1.0):
        return draw.standard_normal((rows, columns), np.float32) * np.float32(gain / columns**0.5)

    def vector(size, offset, gain):
        return (offset + gain * draw.standard_normal(size)).astype(np.float32)

    yield "model.embed_tokens.weight", matrix(words, width, width**0.5)
    for i in range(config["num_hidden_layers"]):
        name = "model.layers.%d." % i
        yield name + "input_layernorm.weight", vector(width, 1, 0.2)
        for which, rows in (("q", q), ("k", kv), ("v", kv)):
            yield name + "self_attn.%s_proj.weight" % which, matrix(rows, width, 1.0 if which == "v" else 1.4)
            if bias:
                yield name + "self_attn.%s_proj.bias" % which, vector(rows, 0, 0.5)
        yield name + "self_attn.o_proj.weight", matrix(width, q, added)
        yield name + "post_attention_layernorm.weight", vector(width, 1, 0.2)
        yield name + "mlp.gate_proj.weight", matrix(hidden, width)
        yield name + "mlp.up_proj.weight", matrix(hidden, width)
        yield name + "mlp.down_proj.weight", matrix(width, hidden, added)
    yield "model.norm.weight", vector(width, 1, 0.2)
    if not config["tie_word_embeddings"]:
        yield "lm_head.weight", matrix(words, width)


def stored(numbers, dtype):
    """Bytes in this dtype."""
    if dtype == "BF16":
        return (np.ascontiguousarray(numbers).view(np.uint32) >> 16).astype("<u2").tobytes()
    return numbers.astype({"F32": "<f4", "F16": "<f2"}[dtype]).tobytes()


def loaded(data, dtype, shape):
    if dtype == "BF16":
        return (np.frombuffer(data, "<u2").astype(np.uint32) << 16).view(np.float32).reshape(shape)
    return np.frombuffer(data, {"F32": "<f4", "F16": "<f2"}[dtype]).reshape(shape)


def file_of(header, chunks):
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    return [struct.pack("<Q", len(text)), text, *chunks]


def write_model(folder, config, tensors, dtype):
    header, chunks, at = {"__metadata__": {"format": "pt"}}, [], 0
    for name, numbers in tensors:
        chunks.append(stored(numbers, dtype))
        header[name] = {"dtype": dtype, "shape": list(numbers.shape), "data_offsets": [at, at + len(chunks[-1])]}
        at += len(chunks[-1])
    with open(os.path.join(folder, "model.safetensors"), "wb") as file:
        file.writelines(file_of(header, chunks))
    with open(os.path.join(folder, "config.json"), "w", encoding="utf-8") as file:
        json.dump(config, file, indent=2)


class Model:
    """Reads the files again, and knows nothing of how they were made."""

    def __init__(self, folder):
        with open(os.path.join(folder, "config.json"), encoding="utf-8") as file:
            self.config = json.load(file)
        with open(os.path.join(folder, "model.safetensors"), "rb") as file:
            self.header = json.loads(file.read(struct.unpack("<Q", file.read(8))[0]))
            self.data = file.read()

    def tensor(self, name):
        t = self.header.get(name)
        return None if t is None else loaded(self.data[slice(*t["data_offsets"])], t["dtype"], t["shape"]).astype(np.float64)

    def linear(self, name, x):
        y, bias = x @ self.tensor(name + ".weight").T, self.tensor(name + ".bias")
        return y if bias is None else y + bias

    def norm(self, name, x):
        return x / np.sqrt((x * x).mean(axis=1, keepdims=True) + self.config["rms_norm_eps"]) * self.tensor(name + ".weight")

    def frequencies(self):
        dim, given = head_dim(self.config), self.config.get("rope_scaling") or {}
        frequencies = self.config["rope_theta"] ** (-np.arange(0, dim, 2) / dim)
        if given.get("rope_type") == "linear":
            return frequencies / given["factor"]
        if given.get("rope_type") == "llama3":
            turns = given["original_max_position_embeddings"] * frequencies / (2 * np.pi)
            low, high = given["low_freq_factor"], given["high_freq_factor"]
            kept = np.clip((turns - low) / (high - low), 0, 1)
            return frequencies * (kept + (1 - kept) / given["factor"])
        return frequencies

    def rotate(self, x):
        """x: [tokens][heads][dim]; numbers i and i + dim / 2 are a pair."""
        angles = np.arange(len(x))[:, None, None] * self.frequencies()
        a, b = np.split(x, 2, axis=2)
        return np.concatenate((a * np.cos(angles) - b * np.sin(angles), b * np.cos(angles) + a * np.sin(angles)), axis=2)

    def attend(self, name, x):
        tokens, dim = len(x), head_dim(self.config)
        q, k, v = (self.linear(name + "%s_proj" % which, x).reshape(tokens, -1, dim) for which in "qkv")
        q, k = self.rotate(q), self.rotate(k)
        group = q.shape[1] // k.shape[1]
        k, v = np.repeat(k, group, axis=1), np.repeat(v, group, axis=1)
        scores = np.einsum("qhc,khc->hqk", q, k) / dim**0.5
        scores[:, np.triu(np.ones((tokens, tokens), bool), 1)] = -np.inf
        weights = np.exp(scores - scores.max(axis=2, keepdims=True))
        weights /= weights.sum(axis=2, keepdims=True)
        return self.linear(name + "o_proj", np.einsum("hqk,khc->qhc", weights, v).reshape(tokens, -1))

    def logits(self, ids):
        words = self.tensor("model.embed_tokens.weight")
        x = words[ids]
        for i in range(self.config["num_hidden_layers"]):
            name = "model.layers.%d." % i
            x = x + self.attend(name + "self_attn.", self.norm(name + "input_layernorm", x))
            normed = self.norm(name + "post_attention_layernorm", x)
            gate = self.linear(name + "mlp.gate_proj", normed)
            x = x + self.linear(name + "mlp.down_proj", gate / (1 + np.exp(-gate)) * self.linear(name + "mlp.up_proj", normed))
        x = self.norm("model.norm", x)
        return x @ (words if self.config["tie_word_embeddings"] else self.tensor("lm_head.weight")).T
