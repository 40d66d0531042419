"""all-MiniLM-L6-v2 in float64, as its paper and its configuration say: what the encoder of fovea is compared with."""
import json
import math
import os
import struct

import numpy as np

LAYERS, WIDTH, HEADS, EPSILON = 6, 384, 12, 1e-12


def read_weights(folder):
    """The tensors of model.safetensors by their names, as float64."""
    with open(os.path.join(folder, "model.safetensors"), "rb") as file:
        header = json.loads(file.read(struct.unpack("<Q", file.read(8))[0]))
        data = file.read()
    header.pop("__metadata__", None)
    return {name: np.frombuffer(data[slice(*t["data_offsets"])], "<f4").reshape(t["shape"]).astype(np.float64)
            for name, t in header.items() if t["dtype"] == "F32"}


ERF_STEPS = 256  # of the table, for each unit of x
ERF_TABLE = np.array([math.erf(i / ERF_STEPS) for i in range(6 * ERF_STEPS + 1)])


def erf(x):
    """A Taylor polynomial around the next number in the table: exact to 1e-16."""
    a = np.minimum(np.abs(x), 6)
    near = np.rint(a * ERF_STEPS).astype(int)
    t = near / ERF_STEPS
    d = a - t
    series = d * (1 + d * (-t + d * ((4 * t**2 - 2) / 6 + d * ((12 * t - 8 * t**3) / 24 +
                                                              d * (16 * t**4 - 48 * t**2 + 12) / 120))))
    return np.sign(x) * (ERF_TABLE[near] + 2 / math.sqrt(math.pi) * np.exp(-t * t) * series)


def gelu(x):
    return x * (1 + erf(x / math.sqrt(2))) / 2


class Model:
    def __init__(self, folder):
        self.weights = read_weights(folder)

    def linear(self, name, x):
        return x @ self.weights[name + ".weight"].T + self.weights[name + ".bias"]

    def norm(self, name, x):
        x = x - x.mean(axis=1, keepdims=True)
        x = x / np.sqrt((x * x).mean(axis=1, keepdims=True) + EPSILON)
        return x * self.weights[name + ".weight"] + self.weights[name + ".bias"]

    def attend(self, name, x):
        q, k, v = (self.linear(name + ".self." + which, x).reshape(len(x), HEADS, -1).transpose(1, 0, 2)
                   for which in ("query", "key", "value"))
        scores = q @ k.transpose(0, 2, 1) / math.sqrt(WIDTH // HEADS)
        weights = np.exp(scores - scores.max(axis=2, keepdims=True))
        weights /= weights.sum(axis=2, keepdims=True)
        joined = (weights @ v).transpose(1, 0, 2).reshape(len(x), WIDTH)
        return self.linear(name + ".output.dense", joined)

    def embed(self, ids):
        """The normalised mean of the tokens' vectors."""
        w = self.weights
        x = (w["embeddings.word_embeddings.weight"][ids] + w["embeddings.position_embeddings.weight"][:len(ids)] +
             w["embeddings.token_type_embeddings.weight"][0])
        x = self.norm("embeddings.LayerNorm", x)
        for layer in range(LAYERS):
            name = "encoder.layer.%d." % layer
            x = self.norm(name + "attention.output.LayerNorm", x + self.attend(name + "attention", x))
            hidden = gelu(self.linear(name + "intermediate.dense", x))
            x = self.norm(name + "output.LayerNorm", x + self.linear(name + "output.dense", hidden))
        mean = x.mean(axis=0)
        return mean / np.sqrt(mean @ mean)
