#!/usr/bin/env python3
"""train.py FOVEA: trains a vision transformer on scikit-learn's digits and writes digits_weights.h and digits_images.h beside itself.

A picture of 8x8 is 16 tokens: windows of 4x4 pixels, every two pixels. One layer of attention and feed-forward network, 32 numbers wide,
without norms, so that each step is one static layer of integers. Every fifth picture is for testing, and nothing of it is used in training. Needs numpy and
scikit-learn; FOVEA is the command line program, whose `scale` makes the integers of the attention.
"""
import os
import re
import subprocess
import sys

import numpy as np
from sklearn.datasets import load_digits

TOKENS, PATCH, WIDTH, HEADS, HIDDEN, CLASSES = 16, 16, 32, 2, 96, 10
DIM = WIDTH // HEADS
HERE = os.path.dirname(os.path.abspath(__file__))
EPOCHS, BATCH, RATE = 200, 64, 8e-3


def patches(images):  # [n][8][8] -> [n][16][16]
    padded = np.pad(images, ((0, 0), (1, 1), (1, 1)))
    return np.stack([padded[:, a:a + 4, b:b + 4].reshape(-1, PATCH) for a in range(0, 8, 2) for b in range(0, 8, 2)], axis=1)


def shifted(images, draw):
    """Each picture moved by up to one pixel."""
    padded = np.pad(images, ((0, 0), (1, 1), (1, 1)))
    moves = draw.integers(0, 3, (len(images), 2))
    return np.stack([p[a:a + 8, b:b + 8] for p, (a, b) in zip(padded, moves)])


def parameters(draw):
    def matrix(out, inputs, gain=1.0):
        return draw.normal(0, gain / np.sqrt(inputs), (out, inputs))

    return {"embed": matrix(WIDTH, PATCH), "embed_bias": np.zeros(WIDTH), "place": draw.normal(0, 0.3, (TOKENS, WIDTH)),
            "qkv": matrix(3 * WIDTH, WIDTH), "qkv_bias": np.zeros(3 * WIDTH), "mix": matrix(WIDTH, WIDTH, 0.5), "mix_bias": np.zeros(WIDTH),
            "up": matrix(HIDDEN, WIDTH, 1.4), "up_bias": np.zeros(HIDDEN), "down": matrix(WIDTH, HIDDEN, 0.5), "down_bias": np.zeros(WIDTH),
            "classify": matrix(CLASSES, WIDTH), "classify_bias": np.zeros(CLASSES)}


def split_heads(x):  # [n][tokens][width] -> [n][heads][tokens][dim]
    return x.reshape(len(x), TOKENS, HEADS, DIM).transpose(0, 2, 1, 3)


def join_heads(x):
    return x.transpose(0, 2, 1, 3).reshape(len(x), TOKENS, WIDTH)


def forward(p, x):
    s = {"x": x}
    s["x0"] = x @ p["embed"].T + p["embed_bias"] + p["place"]
    s["qkv"] = s["x0"] @ p["qkv"].T + p["qkv_bias"]
    q, k, v = (split_heads(part) for part in np.split(s["qkv"], 3, axis=2))
    scores = q @ k.transpose(0, 1, 3, 2) / np.sqrt(DIM)
    e = np.exp(scores - scores.max(axis=3, keepdims=True))
    s["a"] = e / e.sum(axis=3, keepdims=True)
    s["q"], s["k"], s["v"] = q, k, v
    s["o"] = join_heads(s["a"] @ v)
    s["mixed"] = s["o"] @ p["mix"].T + p["mix_bias"]
    s["x1"] = s["x0"] + s["mixed"]
    s["h"] = np.maximum(s["x1"] @ p["up"].T + p["up_bias"], 0)
    s["back"] = s["h"] @ p["down"].T + p["down_bias"]
    s["x2"] = s["x1"] + s["back"]
    s["pool"] = s["x2"].mean(axis=1)
    s["logits"] = s["pool"] @ p["classify"].T + p["classify_bias"]
    return s


def flat(a, b):
    """Sum of outer products over all leading axes."""
    return a.reshape(-1, a.shape[-1]).T @ b.reshape(-1, b.shape[-1])


def gradients(p, s, labels):
    n, g = len(labels), {}
    e = np.exp(s["logits"] - s["logits"].max(axis=1, keepdims=True))
    d = e / e.sum(axis=1, keepdims=True)
    d -= 0.95 * np.eye(CLASSES)[labels] + 0.05 / CLASSES  # smoothed labels
    d /= n
    g["classify"], g["classify_bias"] = flat(d, s["pool"]), d.sum(axis=0)
    dx = np.repeat((d @ p["classify"])[:, None] / TOKENS, TOKENS, axis=1)
    g["down"], g["down_bias"] = flat(dx, s["h"]), dx.sum(axis=(0, 1))
    dh = dx @ p["down"] * (s["h"] > 0)
    g["up"], g["up_bias"] = flat(dh, s["x1"]), dh.sum(axis=(0, 1))
    dx = dx + dh @ p["up"]
    g["mix"], g["mix_bias"] = flat(dx, s["o"]), dx.sum(axis=(0, 1))
    do = split_heads(dx @ p["mix"])
    da = do @ s["v"].transpose(0, 1, 3, 2)
    dv = s["a"].transpose(0, 1, 3, 2) @ do
    ds = s["a"] * (da - (da * s["a"]).sum(axis=3, keepdims=True)) / np.sqrt(DIM)
    dqkv = np.concatenate([join_heads(ds @ s["k"]), join_heads(ds.transpose(0, 1, 3, 2) @ s["q"]), join_heads(dv)], axis=2)
    g["qkv"], g["qkv_bias"] = flat(dqkv, s["x0"]), dqkv.sum(axis=(0, 1))
    dx = dx + dqkv @ p["qkv"]
    g["place"] = dx.sum(axis=0)
    g["embed"], g["embed_bias"] = flat(dx, s["x"]), dx.sum(axis=(0, 1))
    return g


def train(images, labels):
    draw = np.random.default_rng(1)
    p = parameters(draw)
    first = {name: np.zeros_like(value) for name, value in p.items()}
    second = {name: np.zeros_like(value) for name, value in p.items()}
    step, steps = 0, EPOCHS * (len(images) // BATCH)
    for _ in range(EPOCHS):
        order = draw.permutation(len(images))
        for at in range(0, len(images) - BATCH + 1, BATCH):
            some = order[at:at + BATCH]
            s = forward(p, patches(shifted(images[some], draw)) / 16)
            g = gradients(p, s, labels[some])
            step += 1
            rate = RATE * 0.5 * (1 + np.cos(np.pi * step / steps))
            for name in p:  # Adam
                first[name] += 0.1 * (g[name] - first[name])
                second[name] += 0.01 * (g[name] ** 2 - second[name])
                p[name] -= rate * first[name] / (1 - 0.9 ** step) / (np.sqrt(second[name] / (1 - 0.99 ** step)) + 1e-8)
                if p[name].ndim == 2:
                    p[name] *= 1 - 0.02 * rate
    return p


def multiplier_of(real):
    fraction, exponent = np.frexp(real)
    multiplier = int(np.floor(fraction * 2.0 ** 31 + 0.5))
    return (multiplier // 2, int(exponent) + 1) if multiplier == 1 << 31 else (multiplier, int(exponent))


def words(numbers):
    """Bytes as words, lowest first."""
    data = np.asarray(numbers).astype(np.int8 if np.min(numbers) < 0 else np.uint8).tobytes()
    data += bytes(-len(data) % 4)
    found = ["0x%08x" % int.from_bytes(data[i:i + 4], "little") for i in range(0, len(data), 4)]
    return "\n".join(",".join(found[i:i + 8]) + "," for i in range(0, len(found), 8))


def integers(numbers):
    found = [str(int(n)) for n in numbers]
    return "\n".join(",".join(found[i:i + 8]) + "," for i in range(0, len(found), 8))


def layer(name, weights, bias, x_scale, y_scales):
    """Rows of int8 with a scale each; what requantises their sums."""
    w_scales = np.abs(weights).max(axis=1) / 127
    rows = np.rint(weights / w_scales[:, None])
    pairs = [multiplier_of(s) for s in x_scale * w_scales / y_scales]
    text = "static const uint32_t %s_rows[] = {\n%s\n};\n" % (name, words(rows))
    text += "static const int32_t %s_bias[] = {\n%s\n};\n" % (name, integers(np.rint(bias / (x_scale * w_scales))))
    text += "static const int32_t %s_multipliers[] = {\n%s\n};\n" % (name, integers([m for m, _ in pairs]))
    return text + "static const int32_t %s_shifts[] = {\n%s\n};\n" % (name, integers([e for _, e in pairs]))


def weights_text(p, s, fovea, accuracy):
    top = lambda *names: max(np.abs(s[name]).max() for name in names) / 127
    # The few largest numbers of x are clipped: of 0.6 to 1, 0.6 comes nearest to the float logits of the training pictures.
    x, q, k, v, o = 0.6 * top("x0", "x1", "x2", "mixed", "back"), top("q"), top("k"), top("v"), top("o")
    hidden = s["h"].max() / 255
    said = subprocess.run([fovea, "scale", "--q", repr(float(q)), "--k", repr(float(k)), "--v", repr(float(v)), "--out", repr(float(o)), "--dim", str(DIM),
                           "--name", "attention_scale"], stdout=subprocess.PIPE, check=True).stdout.decode()
    scale = re.search(r"^static .*$", said, re.M).group(0)
    text = "/* Made by train.py: integers of a vision transformer. In floats it knows %.2f %% of the test. */\n" % accuracy
    text += "#include \"fovea/fixed.h\"\n\n"
    text += layer("embed", p["embed"], p["embed_bias"], 1 / 16, np.full(WIDTH, x))
    text += "static const uint32_t place[] = {\n%s\n};\n" % words(np.clip(np.rint(p["place"] / x), -128, 127))
    text += layer("qkv", p["qkv"], p["qkv_bias"], x, np.repeat([q, k, v], WIDTH))
    text += scale + "\n"
    text += layer("mix", p["mix"], p["mix_bias"], o, np.full(WIDTH, x))
    text += layer("up", p["up"], p["up_bias"], x, np.full(HIDDEN, hidden))
    text += layer("down", p["down"], p["down_bias"], hidden, np.full(WIDTH, x))
    pool, logits = top("pool"), np.abs(s["logits"]).max() / 127
    text += "enum { pool_multiplier = %d }; /* of the sum over all tokens, in Q16 */\n" % np.rint(65536 * x / TOKENS / pool)
    return text + layer("classify", p["classify"], p["classify_bias"], pool, np.full(CLASSES, logits))


def main():
    fovea = sys.argv[1] if len(sys.argv) == 2 else sys.exit(__doc__)
    digits = load_digits()
    images, labels = digits.images, digits.target
    testing = np.arange(len(images)) % 5 == 4
    p = train(images[~testing], labels[~testing])
    found = forward(p, patches(images[testing]) / 16)["logits"].argmax(axis=1)
    accuracy = 100 * (found == labels[testing]).mean()
    known = forward(p, patches(images[~testing]) / 16)
    print("train: %.2f %% of %d pictures for testing, %.2f %% of those for training" %
          (accuracy, testing.sum(), 100 * (known["logits"].argmax(axis=1) == labels[~testing]).mean()))
    with open(os.path.join(HERE, "digits_weights.h"), "w") as file:
        file.write(weights_text(p, known, fovea, accuracy))
    with open(os.path.join(HERE, "digits_images.h"), "w") as file:
        file.write("/* Made by train.py: every fifth picture of scikit-learn's digits, pixels of 0 to 16, and what they show. */\n#include <stdint.h>\n\n")
        file.write("enum { images = %d };\nstatic const uint32_t pixels[] = {\n%s\n};\n" % (testing.sum(), words(images[testing].astype(int).ravel())))
        file.write("static const uint32_t labels[] = {\n%s\n};\n" % words(labels[testing]))


if __name__ == "__main__":
    main()
