"""What the wheel computes, against float64, against itself, and against what every core computes."""

import pathlib
import shutil
import subprocess
import sys

import numpy as np
import pytest

import fovea
from fovea.header import Header

random = np.random.default_rng(7)


def tensors(heads=4, kv_heads=2, queries=6, keys=90, dim=32):
    return [
        random.standard_normal(s, np.float32)
        for s in ((heads, queries, dim), (kv_heads, keys, dim), (kv_heads, keys, dim))
    ]


def textbook(q, k, v, causal=False):
    group = len(q) // len(k)
    k, v = np.repeat(k.astype(float), group, 0), np.repeat(v.astype(float), group, 0)
    s = q @ k.transpose(0, 2, 1) / np.sqrt(q.shape[2])
    if causal:
        s[:, np.arange(s.shape[2])[None] > np.arange(s.shape[1])[:, None] + s.shape[2] - s.shape[1]] = -np.inf
    p = np.exp(s - s.max(-1, keepdims=True))
    p /= p.sum(-1, keepdims=True)
    return p @ v, p


@pytest.mark.parametrize("causal", [False, True])
def test_attend(causal):
    q, k, v = tensors()
    out, lse, weights = fovea.attend(q, k, v, causal=causal, lse=True, weights=True)
    expected, p = textbook(q, k, v, causal)
    assert np.abs(out - expected).max() < 1e-6
    assert np.abs(weights - p).max() < 1e-6
    assert np.array_equal(
        out, fovea.attend(q, k, v, causal=causal, isa=fovea.FOVEA_SCALAR)
    ), "the same bits on every ISA"


def test_selftest():
    fovea.selftest()


def test_options():
    q, k, v = tensors()
    mask = random.integers(0, 2, (6, 90)).astype(bool)
    bias = np.where(mask, np.float32(0), np.float32(-np.inf))
    assert np.array_equal(fovea.attend(q, k, v, mask=mask), fovea.attend(q, k, v, bias=bias))
    window = fovea.attend(q, k, v, causal=True, window=(10, 0))
    assert not np.array_equal(window, fovea.attend(q, k, v, causal=True))
    assert np.array_equal(
        fovea.attend(q, k, v, softcap=0), fovea.attend(q, k, v, scale=1 / np.sqrt(np.float32(32)))
    )


def test_cache_has_the_bits_of_rows():
    q, k, v = tensors()
    cache = fovea.Cache(2, 32, 128)
    for at in range(0, 90, 30):
        cache.append(k[:, at : at + 30], v[:, at : at + 30])
    assert len(cache) == 90
    assert np.array_equal(cache.attend(q, causal=True), fovea.attend(q, k, v, causal=True))
    cache.verify()
    cache.truncate(50)
    assert np.array_equal(cache.attend(q, causal=True), fovea.attend(q, k[:, :50], v[:, :50], causal=True))


def test_fixed():
    q, k, v = tensors()
    (q8, a, _), (k8, b, _), (v8, c, _) = map(fovea.quantize, (q, k, v))
    scale = fovea.make_scale(a, b, c, 0.02, dim=32)
    out = fovea.attend_fixed(q8, k8, v8, scale, causal=True)
    assert np.abs(out * 0.02 - textbook(q, k, v, True)[0]).max() < 0.06
    assert np.array_equal(
        out, fovea.attend_fixed(q8, k8, v8, scale, causal=True, isa=fovea.FOVEA_FIXED_SCALAR)
    )
    floats = fovea.attend_fixed(q8, k8, v8, scale, causal=True, out=np.float32)
    assert np.abs(floats - out * 0.02).max() <= 0.0101


def test_bytes_with_scales():
    q, k, v = tensors()
    (k8, ks), (v8, vs) = fovea.quantize_tokens(k), fovea.quantize_tokens(v)
    out = fovea.attend(q, k8, v8, key_scales=ks, value_scales=vs)
    assert np.abs(out - fovea.attend(q, k8 * ks[..., None], v8 * vs[..., None])).max() < 1e-6
    assert np.array_equal(
        out, fovea.attend(q, k8, v8, key_scales=ks, value_scales=vs, isa=fovea.FOVEA_SCALAR)
    )


@pytest.mark.parametrize(
    "dtype, bound", [(fovea.F32, 1e-5), (fovea.F16, 0.02), (fovea.BF16, 0.2), (fovea.I8, 0.3), (fovea.I4, 3)]
)
def test_linear(dtype, bound):
    w, b, x = (random.standard_normal(s, np.float32) for s in ((40, 64), (40,), (5, 64)))
    y = fovea.Linear(w, b, dtype)(x)
    assert np.abs(y - (x @ w.T + b)).max() < bound


def test_layer_is_its_parts():
    w = [fovea.Linear(random.standard_normal((32, 32), np.float32) / 6) for _ in range(4)]
    x = random.standard_normal((9, 32), np.float32)
    y = fovea.Layer(*w, 2, dim=16)(x, causal=True)
    q, k, v = (np.ascontiguousarray(part(x).reshape(9, 2, 16).transpose(1, 0, 2)) for part in w[:3])
    heads = fovea.attend(q, k, v, causal=True).transpose(1, 0, 2).reshape(9, 32)
    assert np.array_equal(y, w[3](heads))


@pytest.mark.parametrize("interleaved", [False, True])
def test_layer_rotates_and_norms_heads(interleaved):
    heads, kv_heads, dim, tokens, width = 4, 2, 16, 12, 40
    w = [
        random.standard_normal(shape, np.float32) / 6
        for shape in ((heads * dim, width), (kv_heads * dim, width), (kv_heads * dim, width), (width, heads * dim))
    ]
    norms = random.standard_normal((2, dim), np.float32)
    x = random.standard_normal((tokens, width), np.float32)
    rope = fovea.rope_table(8, tokens, base=5000)
    layer = fovea.Layer(
        *map(fovea.Linear, w),
        heads,
        kv_heads=kv_heads,
        dim=dim,
        rope=rope,
        interleaved=interleaved,
        q_norm=norms[0],
        k_norm=norms[1],
        norm_epsilon=1e-5,
    )
    angle = np.arange(tokens)[:, None] * 5000.0 ** (-np.arange(0, 8, 2) / 8)
    assert np.abs(rope - np.array([np.cos(angle), np.sin(angle)])).max() < 1e-7
    first, second = (slice(0, 8, 2), slice(1, 8, 2)) if interleaved else (slice(0, 4), slice(4, 8))

    def projected(weights, norm=None):
        rows = (x.astype(float) @ weights.T).reshape(tokens, -1, dim).transpose(1, 0, 2)
        if norm is None:
            return rows
        rows = rows / np.sqrt((rows**2).mean(-1, keepdims=True) + 1e-5) * norm
        a, b = rows[..., first].copy(), rows[..., second].copy()
        rows[..., first] = a * np.cos(angle) - b * np.sin(angle)
        rows[..., second] = b * np.cos(angle) + a * np.sin(angle)
        return rows

    out = textbook(projected(w[0], norms[0]), projected(w[1], norms[1]), projected(w[2]), True)[0]
    expected = out.transpose(1, 0, 2).reshape(tokens, -1) @ w[3].T + x
    assert np.abs(layer(x, residual=x, causal=True) - expected).max() < 1e-5
    with pytest.raises(ValueError, match=r"rope\[1\]"):
        fovea.Layer(*map(fovea.Linear, w), heads, kv_heads=kv_heads, dim=dim, rope=(rope[0], rope[1][:5]))
    with pytest.raises(fovea.Refused, match="rope|positions"):
        layer(np.zeros((tokens + 1, width), np.float32))


def test_refusals_name_the_argument():
    q, k, v = tensors()
    with pytest.raises(fovea.Refused, match="heads|q_heads"):
        fovea.attend(q[:3], k, v)
    with pytest.raises(ValueError, match="scales of q and k"):
        fovea.make_scale(0, 1, 1, dim=4)


def bytes_like(x):
    return (x * 20).astype(np.int8)


@pytest.mark.parametrize(
    "error, words, call",
    [
        (ValueError, r"q has the shape \[6, 32\]", lambda q, k, v: fovea.attend(q[0], k, v)),
        (ValueError, r"k .* give \[any, any, 32\]", lambda q, k, v: fovea.attend(q, k[:, :, :8], v)),
        (ValueError, r"v .* give \[2, 90, any\]", lambda q, k, v: fovea.attend(q, k, v[:1])),
        (ValueError, "v has", lambda q, k, v: fovea.attend(q, k, v[:, :8])),
        (ValueError, "key_scales", lambda q, k, v: fovea.attend(q, k, v, key_scales=np.ones((2, 8)))),
        (ValueError, "value_scales", lambda q, k, v: fovea.attend(q, k, v, value_scales=np.ones(2))),
        (ValueError, "alibi", lambda q, k, v: fovea.attend(q, k, v, alibi=np.ones(2))),
        (ValueError, "sinks", lambda q, k, v: fovea.attend(q, k, v, sinks=1)),
        (ValueError, "mask has", lambda q, k, v: fovea.attend(q, k, v, mask=np.ones((5, 90), bool))),
        (ValueError, "bias has", lambda q, k, v: fovea.attend(q, k, v, bias=np.ones((2, 6, 90)))),
        (ValueError, "bias has", lambda q, k, v: fovea.attend(q, k, v, bias=np.ones((1, 4, 6, 90)))),
        (TypeError, "mask is of floats", lambda q, k, v: fovea.attend(q, k, v, mask=np.zeros((6, 90)))),
        (ValueError, "mask and bias", lambda q, k, v: fovea.attend(q, k, v, mask=[True], bias=[0])),
        (TypeError, "out is of float64", lambda q, k, v: fovea.attend(q, k, v, out=np.float64)),
        (TypeError, "q is of float32: give int8 or int16", lambda q, k, v: fovea.attend_fixed(q, k, v, scale())),
        (TypeError, "k is of int64", lambda q, k, v: fovea.attend_fixed(bytes_like(q), k.astype(int), v, scale())),
        (
            ValueError,
            "mask has",
            lambda q, k, v: fovea.attend_fixed(*map(bytes_like, (q, k, v)), scale(), mask=np.ones((6, 80), bool)),
        ),
        (TypeError, "dtype is of int16: give int8", lambda q, k, v: fovea.quantize(q, np.int16, asymmetric=True)),
        (ValueError, "k has", lambda q, k, v: fovea.Cache(2, 32, 96).append(k[:1], v[:1])),
        (ValueError, "v has", lambda q, k, v: fovea.Cache(2, 32, 96).append(k, v[:, :8])),
        (ValueError, "bias has", lambda q, k, v: fovea.Linear(k[0], np.ones(8))),
        (ValueError, r"x has the shape \[6, 32\]: give \[6, 90\]", lambda q, k, v: fovea.Linear(k[0].T)(q[0])),
        (ValueError, "residual", lambda q, k, v: fovea.Linear(k[0])(q[0], residual=q[0])),
        (ValueError, "x has", lambda q, k, v: fovea.Layer(*[fovea.Linear(k[0, :32])] * 4, 2, dim=16)(k[0, :, :8])),
    ],
)
def test_arrays_that_do_not_fit_are_refused(error, words, call):
    with pytest.raises(error, match=words):
        call(*tensors())


def scale():
    return fovea.make_scale(0.05, 0.05, 0.05, 0.05, dim=32)


def test_masks_of_any_rank():
    q, k, v = tensors()
    mask = random.integers(0, 2, 90).astype(bool)
    out = fovea.attend(q, k, v, mask=mask)
    for shape in ((6, 90), (4, 6, 90)):
        assert np.array_equal(out, fovea.attend(q, k, v, mask=np.broadcast_to(mask, shape)))
    seen = fovea.attend(q, k[:, :40], v[:, :40])
    assert np.array_equal(seen, fovea.attend(q, k, v, mask=np.ones((6, 40), bool))), "keys behind are masked"
    for hidden in ({"mask": np.ones((6, 0), bool)}, {"bias": np.ones(0, np.float32)}):
        assert not fovea.attend(q, k, v, **hidden).any(), "all keys are behind"
    assert not fovea.attend(q, k[:, :0], v[:, :0], mask=np.ones((6, 0), bool)).any()


def test_a_library_of_another_version_is_refused(tmp_path):
    # Without compiled files: one that is as old as the changed source would be taken for it.
    without = shutil.ignore_patterns("__pycache__")
    folder = shutil.copytree(pathlib.Path(fovea.__file__).parent, tmp_path / "fovea", ignore=without)
    init = folder / "__init__.py"
    init.write_text(init.read_text().replace(f'__version__ = "{fovea.__version__}"', '__version__ = "9.9.9"'))
    run = subprocess.run([sys.executable, "-c", "import fovea"], cwd=tmp_path, capture_output=True, text=True)
    assert "this is fovea 9.9.9, but its library says" in run.stderr


def test_header_is_exact():
    h = Header("x")
    h.array("f", np.array([1 / 3, -0.0, 1e-45], np.float32))
    h.array("b", np.array([-128, 127], np.int8))
    text = h.text()
    with pytest.raises(TypeError, match="d is of float64"):
        h.array("d", np.ones(2))
    assert "0x1.5555560000000p-2f" in text and "-0x0.0p+0f" in text and "-128, 127" in text


def test_picture():
    pytest.importorskip("matplotlib").use("agg")
    from fovea import plot

    assert len(plot.attention(np.full((2, 3, 3), 1 / 3), ["a", "b", "c"]).axes) == 2
