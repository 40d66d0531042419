"""fovea on a computer: the bits that the board computes. Arrays of numpy, [heads][tokens][dim]; see README.md."""

import ctypes
import pathlib

import numpy as np

from . import _c
from ._c import *  # constants: FOVEA_I8 and its kin

__version__ = "@VERSION@"
_lib = ctypes.CDLL(str(next(pathlib.Path(__file__).parent.glob("libfovea.*"))))
for _name, (_result, _arguments) in _c.FUNCTIONS.items():
    getattr(_lib, _name).restype = _result
    getattr(_lib, _name).argtypes = _arguments
_lib.fovea_python_scale.restype = ctypes.c_char_p
_lib.fovea_python_scale.argtypes = [ctypes.c_double] * 5 + [ctypes.c_int32] * 4 + [ctypes.c_void_p]
_lib.fovea_python_multiplier.argtypes = [ctypes.c_double, ctypes.c_void_p, ctypes.c_void_p]
_lib.fovea_python_multiplier.restype = None

_version = _lib.fovea_version()
if __version__ != f"{_version // 10000}.{_version // 100 % 100}.{_version % 100}":
    raise ImportError(
        f"this is fovea {__version__}, but its library says {_version}: install the wheel again"
    )

F32, F16, BF16, I8, I4 = FOVEA_F32, FOVEA_F16, FOVEA_BF16, FOVEA_I8, FOVEA_I4
_F32, _F16, _S8, _S16 = (np.dtype(name) for name in ("float32", "float16", "int8", "int16"))
_TYPES = {_F32: FOVEA_F32, _F16: FOVEA_F16, _S8: FOVEA_I8}
_FIXED = {_S8: FOVEA_FIXED_S8, _S16: FOVEA_FIXED_S16, _F32: FOVEA_FIXED_F32}


class Refused(ValueError):
    """A call that the library refuses; .status is its number."""

    def __init__(self, status):
        reason, argument = _lib.fovea_reason_text(status).decode(), _lib.fovea_argument_text(status).decode()
        super().__init__(f"{argument}: {reason} (status {status:#06x})")
        self.status = status


def _do(status):
    if status:
        raise Refused(status)


def _at(x):
    return None if x is None else x.ctypes.data


def _one_of(name, dtype, *types):
    if np.dtype(dtype) not in types:
        raise TypeError(f"{name} is of {np.dtype(dtype)}: give {' or '.join(map(str, types))}")
    return np.dtype(dtype)


def _floats(name, x, shape, *types):
    """Contiguous, of float32 or one of `types`; other numbers become float32."""
    x = np.asarray(x)
    return _shaped(name, x if x.dtype in types else x.astype(_F32, copy=False), shape)


def _integers(name, x, shape, *types):
    """Contiguous, of one of `types`: nothing becomes an integer unasked."""
    x = np.asarray(x)
    _one_of(name, x.dtype, *types)
    return _shaped(name, x, shape)


def _shaped(name, x, shape):
    """The library gets an address and counts, so the array must have what they say. None: any number."""
    if len(x.shape) != len(shape) or any(n not in (None, m) for n, m in zip(shape, x.shape)):
        wanted = ", ".join("any" if n is None else str(n) for n in shape)
        raise ValueError(f"{name} has the shape {list(x.shape)}: give [{wanted}]")
    return np.ascontiguousarray(x)


def _scratch(size):
    return np.empty(max(int(size), 1), np.uint8)


def _in(x, scales=None):
    return _c.fovea_in(data=_at(x), scales=_at(scales), dtype=_TYPES[x.dtype])


def _set_sight(a, causal, position, window, prefix, keep_first):
    a.flags = (
        (FOVEA_CAUSAL if causal else 0)
        | (FOVEA_POSITION if position is not None else 0)
        | (FOVEA_WINDOW if window else 0)
    )
    a.position = position or 0
    a.window_left, a.window_right = window or (0, 0)
    a.prefix, a.keep_first = prefix, keep_first


def _set_options(
    a,
    keep,
    heads,
    queries,
    *,
    causal=False,
    position=None,
    window=None,
    prefix=0,
    keep_first=0,
    scale=None,
    softcap=0,
    alibi=None,
    sinks=None,
    mask=None,
    bias=None,
    isa=0,
):
    """Fills the options of a fovea_attention of so many rows; arrays that it points to are added to `keep`."""
    _set_sight(a, causal, position, window, prefix, keep_first)
    if scale is not None:
        a.flags |= FOVEA_SCALE
        a.scale = scale
    a.softcap, a.isa = softcap, isa
    for name, numbers in (("alibi", alibi), ("sinks", sinks)):
        if numbers is not None:
            keep.append(_floats(name, numbers, (heads,)))
            setattr(a, name, _at(keep[-1]))
    if mask is not None and bias is not None:
        raise ValueError("mask and bias are given: a call takes one of them")
    if mask is not None or bias is not None:
        rows = _rows_of_mask(mask, bias, heads, queries, None)
        if rows.shape[-1] == 0:  # the library would take 0 columns for all keys
            rows = np.full((*rows.shape[:-1], 1), 0 if bias is None else -np.inf, rows.dtype)
        keep.append(rows)
        a.mask.is_bias, a.mask.keys = int(bias is not None), rows.shape[-1]
        _set_mask(a.mask, rows)


def _rows_of_mask(mask, bias, heads, queries, columns):
    """[keys], [queries][keys] or [heads][queries][keys]."""
    shape = (heads, queries, columns)[-max(1, np.ndim(mask if bias is None else bias)) :]
    if bias is not None:
        return _floats("bias", bias, shape)
    if np.asarray(mask).dtype.kind == "f":
        raise TypeError("mask is of floats: give bool, True = seen, or add floats to scores by bias=")
    return _integers("mask", mask, shape, np.dtype(bool), np.dtype(np.uint8)).view(np.uint8)


def _set_mask(mask, rows):
    mask.data = _at(rows)
    mask.query_stride = rows.shape[-1] if rows.ndim > 1 else 0
    mask.head_stride = rows.shape[-1] * rows.shape[-2] if rows.ndim > 2 else 0


def attend(
    q,
    k,
    v,
    *,
    key_scales=None,
    value_scales=None,
    first_key=0,
    lse=False,
    weights=False,
    out=np.float32,
    scratch=None,
    **options,
):
    """Attention: out, or (out, lse, weights) as far as they are asked for. q [heads][queries][dim], k and v
    [kv_heads][keys][dim], of float32, float16 or (k and v, with scales [kv_heads][keys]) int8. Options:
    causal, position, window=(left, right), prefix, keep_first, scale, softcap, alibi, sinks, mask, bias, isa.
    `scratch`: bytes, to compute as a board with so many does; no bit depends on it.
    """
    q = _floats("q", q, (None, None, None), _F16)
    k = _floats("k", k, (None, None, q.shape[2]), _F16, _S8)
    v = _floats("v", v, (*k.shape[:2], None), _F16, _S8)
    if key_scales is not None:
        key_scales = _floats("key_scales", key_scales, k.shape[:2])
    if value_scales is not None:
        value_scales = _floats("value_scales", value_scales, k.shape[:2])
    a, keep = _c.fovea_attention(), [q, k, v, key_scales, value_scales]
    a.q, a.k, a.v = _in(q), _in(k, key_scales), _in(v, value_scales)
    a.q_heads, a.queries, a.dim = q.shape
    a.kv_heads, a.keys, a.v_dim, a.first_key = k.shape[0], k.shape[1], v.shape[2], first_key
    _set_options(a, keep, *q.shape[:2], **options)
    return _run(a, out, lse, weights, scratch)


def _run(a, out, lse, weights, scratch):
    results = [np.empty((a.q_heads, a.queries, a.v_dim or a.dim), _one_of("out", out, _F32, _F16))]
    a.out.data, a.out.dtype = _at(results[0]), _TYPES[results[0].dtype]
    if lse:
        results.append(np.empty((a.q_heads, a.queries), np.float32))
        a.lse = _at(results[-1])
    if weights:
        results.append(np.zeros((a.q_heads, a.queries, a.keys), np.float32))
        a.weights.data = _at(results[-1])
    memory = _scratch(scratch or _lib.fovea_scratch_best(ctypes.addressof(a)))
    _do(_lib.fovea_attend(ctypes.addressof(a), _at(memory), memory.size))
    return results[0] if len(results) == 1 else tuple(results)


def _rows_of(x):
    x = np.asarray(x)
    x = _floats("x", x, (None,) * max(x.ndim, 1))
    return x, _c.fovea_float_rows(data=_at(x), rows=int(np.prod(x.shape[:-1])), dim=x.shape[-1])


def quantize(x, dtype=np.int8, asymmetric=False):
    """(integers, scale, zero point) of a whole tensor: x = scale * (integer - zero point)."""
    dtype = _one_of("dtype", dtype, _S8) if asymmetric else _one_of("dtype", dtype, _S8, _S16)
    x, rows = _rows_of(x)
    scale, zero = ctypes.c_float(), ctypes.c_int32()
    whole = ctypes.addressof(rows)
    if asymmetric:
        _do(_lib.fovea_fixed_asymmetric(whole, ctypes.addressof(scale), ctypes.addressof(zero)))
    else:
        _do(_lib.fovea_fixed_symmetric(whole, _FIXED[dtype], ctypes.addressof(scale)))
    out = np.empty(x.shape, dtype)
    if out.dtype == np.int8:
        _do(_lib.fovea_fixed_quantize_s8(whole, scale, zero, _at(out)))
    else:
        _do(_lib.fovea_fixed_quantize_s16(whole, scale, _at(out)))
    return out, scale.value, zero.value


def quantize_tokens(x):
    """(int8, scales): a scale for each row, as caches and attend(key_scales=...) take them."""
    x, rows = _rows_of(x)
    out, scales = np.empty(x.shape, np.int8), np.empty(x.shape[:-1], np.float32)
    _do(_lib.fovea_fixed_quantize_tokens(ctypes.addressof(rows), _at(scales), _at(out)))
    return out, scales


def make_scale(q, k, v, out=0.0, *, dim, softmax=0.0, max_keys=512, dtype=np.int8, zero_points=False):
    """The integers of attend_fixed from real scales; out 0: float output."""
    scale = _c.fovea_fixed_scale()
    refusal = _lib.fovea_python_scale(
        q,
        k,
        v,
        out,
        softmax,
        dim,
        max_keys,
        _FIXED[_one_of("dtype", dtype, _S8, _S16)],
        zero_points,
        ctypes.addressof(scale),
    )
    if refusal:
        raise ValueError(refusal.decode())
    return scale


def make_multiplier(real):
    """(multiplier, shift) of a layer of integers."""
    multiplier, shift = ctypes.c_int32(), ctypes.c_int32()
    _lib.fovea_python_multiplier(real, ctypes.addressof(multiplier), ctypes.addressof(shift))
    return multiplier.value, shift.value


def attend_fixed(
    q,
    k,
    v,
    scale,
    *,
    zeros=(0, 0, 0, 0),
    out=None,
    max_keys=0,
    weight_bits=0,
    first_key=0,
    causal=False,
    position=None,
    window=None,
    prefix=0,
    keep_first=0,
    mask=None,
    isa=0,
):
    """Attention on int8 or int16. `scale` is of make_scale, `zeros` the zero points of q, k, v and out; out: the
    dtype of the result.
    """
    q = _integers("q", q, (None, None, None), _S8, _S16)
    k = _integers("k", k, (None, None, q.shape[2]), _S8, _S16)
    v = _integers("v", v, (*k.shape[:2], None), _S8, _S16)
    a, keep = _c.fovea_fixed_attention(), []
    for name, x, zero in (("q", q, zeros[0]), ("k", k, zeros[1]), ("v", v, zeros[2])):
        setattr(a, name, _c.fovea_fixed_in(data=_at(x), dtype=_FIXED[x.dtype], zero_point=zero))
    a.q_heads, a.queries, a.dim = q.shape
    a.kv_heads, a.keys, a.v_dim, a.first_key = k.shape[0], k.shape[1], v.shape[2], first_key
    a.max_keys, a.weight_bits, a.scale, a.isa = max_keys, weight_bits, scale, isa
    _set_sight(a, causal, position, window, prefix, keep_first)
    if zeros[0]:
        sums = np.empty(k.shape[:2], np.int32)
        for head in range(k.shape[0]):
            _do(_lib.fovea_fixed_sum_keys(_at(sums[head]), _at(k[head]), 0, k.shape[1], k.shape[2]))
        a.key_sums.data = _at(sums)
    if mask is not None:
        mask = _rows_of_mask(mask, None, *q.shape[:2], a.keys)
        _set_mask(a.mask, mask)
    result = np.empty((a.q_heads, a.queries, a.v_dim), _one_of("out", out or q.dtype, _S8, _S16, _F32))
    a.out.data, a.out.dtype, a.out.zero_point = _at(result), _FIXED[result.dtype], zeros[3]
    memory = _scratch(_lib.fovea_fixed_scratch_best(ctypes.addressof(a)))
    _do(_lib.fovea_fixed_attend(ctypes.addressof(a), _at(memory), memory.size))
    return result


class Cache:
    """Keys and values of one layer. `image` holds the bytes that a board's cache holds."""

    def __init__(
        self, kv_heads, dim, capacity, *, v_dim=0, dtype=F32, window=0, keep_first=0, k_largest=0, v_largest=0
    ):
        shape = _c.fovea_cache_shape(
            kv_heads=kv_heads,
            dim=dim,
            v_dim=v_dim,
            capacity=capacity,
            dtype=dtype,
            window=window,
            keep_first=keep_first,
            k_largest=k_largest,
            v_largest=v_largest,
        )
        size = _lib.fovea_cache_size(ctypes.addressof(shape))
        memory = np.zeros(size + 63, np.uint8)
        self.image = memory[-memory.ctypes.data % 64 :][:size]
        self._memory, self._heads, self._dims = memory, kv_heads, (dim, v_dim or dim)
        _do(_lib.fovea_cache_init(_at(self.image), size, ctypes.addressof(shape)))

    def __len__(self):
        return _lib.fovea_cache_length(_at(self.image))

    def append(self, k, v):
        """[kv_heads][tokens][dim]"""
        k = _floats("k", k, (self._heads, None, self._dims[0]), _F16, _S8)
        v = _floats("v", v, (self._heads, k.shape[1], self._dims[1]), _F16, _S8)
        a, b = _in(k), _in(v)
        _do(_lib.fovea_cache_append(_at(self.image), ctypes.addressof(a), ctypes.addressof(b), k.shape[1]))

    def truncate(self, length):
        _do(_lib.fovea_cache_truncate(_at(self.image), length))

    def verify(self):
        _do(_lib.fovea_cache_verify(_at(self.image), self.image.size))

    def attend(self, q, *, lse=False, weights=False, out=np.float32, scratch=None, **options):
        """As fovea.attend, on the keys and values of the cache."""
        q = _floats("q", q, (None, None, self._dims[0]), _F16)
        a, segments, keep = _c.fovea_attention(), _c.fovea_segments(), [q]
        a.q = _in(q)
        a.q_heads, a.queries, a.dim = q.shape
        _set_options(a, keep, *q.shape[:2], **options)
        _do(_lib.fovea_cache_view(_at(self.image), ctypes.addressof(segments), ctypes.addressof(a)))
        return _run(a, out, lse, weights, scratch)


class Linear:
    """Packed weights [out][in] with a bias; y = linear(x). dtype: F32, F16, BF16, I8 or I4."""

    def __init__(self, w, bias=None, dtype=F32):
        w = _floats("w", w, (None, None), _F16)
        self.outputs, self.inputs = w.shape
        self.dtype, self.bias = dtype, None if bias is None else _floats("bias", bias, (self.outputs,))
        size = _lib.fovea_linear_size(self.inputs, self.outputs, dtype)
        memory = np.zeros(size + 63, np.uint8)
        self.packed, self._memory = memory[-memory.ctypes.data % 64 :][:size], memory
        rows = _c.fovea_rows_in(data=_at(w), dtype=_TYPES[w.dtype])
        _do(
            _lib.fovea_pack_linear(
                _at(self.packed),
                size,
                self.inputs,
                self.outputs,
                dtype,
                0,
                ctypes.addressof(rows),
                self.outputs,
            )
        )
        self.c = _c.fovea_linear(
            packed=_at(self.packed),
            bias=_at(self.bias),
            **{"in": self.inputs, "out": self.outputs, "dtype": dtype},
        )

    def __call__(self, x, activation=FOVEA_NO_ACTIVATION, residual=None, isa=0):
        x = _floats("x", x, (*np.shape(x)[:-1], self.inputs))
        columns = self.outputs // 2 if activation == FOVEA_SILU_TIMES else self.outputs
        y = np.empty(x.shape[:-1] + (columns,), np.float32)
        if residual is not None:
            residual = _floats("residual", residual, y.shape)
        p = _c.fovea_product(
            w=ctypes.addressof(self.c), rows=x.size // self.inputs, activation=activation, isa=isa
        )
        p.x, p.y, p.residual = (
            _c.fovea_rows_in(data=_at(x)),
            _c.fovea_rows_out(data=_at(y)),
            _c.fovea_rows_in(data=_at(residual)),
        )
        memory = _scratch(_lib.fovea_multiply_scratch(ctypes.addressof(p)))
        _do(_lib.fovea_multiply(ctypes.addressof(p), _at(memory), memory.size))
        return y


def rope_table(rotary_dim, positions, *, base=10000.0, **scaling):
    """(cosines, sines), [positions][rotary_dim / 2], from position 0 on. Scaling: the fields of
    fovea_rope_frequencies, as scaling=FOVEA_ROPE_LLAMA3, factor=8.
    """
    f = _c.fovea_rope_frequencies(base=base, rotary_dim=rotary_dim, **scaling)
    tables = np.empty((2, positions, rotary_dim // 2), np.float32)
    _do(_lib.fovea_rope_table(ctypes.addressof(f), 0, positions, _at(tables[0]), _at(tables[1])))
    return tables[0], tables[1]


class Layer:
    """Attention with its four products: y = layer(x). q, k, v and out are of Linear. rope: (cosines, sines) of
    rope_table; q_norm, k_norm: [dim] factors of the RMS norm of each head.
    """

    def __init__(
        self,
        q,
        k,
        v,
        out,
        heads,
        *,
        kv_heads=0,
        dim,
        v_dim=0,
        int8=False,
        token_scales=False,
        rope=None,
        interleaved=False,
        q_norm=None,
        k_norm=None,
        norm_epsilon=0,
        norm_plus_one=False,
    ):
        self.parts = q, k, v, out
        self.c = _c.fovea_layer(
            q=q.c,
            k=k.c,
            v=v.c,
            out=out.c,
            q_heads=heads,
            kv_heads=kv_heads,
            dim=dim,
            v_dim=v_dim,
            attention=FOVEA_I8 if int8 else FOVEA_F32,
            token_scales=int(token_scales),
            norm_epsilon=norm_epsilon,
            norm_plus_one=int(norm_plus_one),
        )
        self._keep = []  # what self.c points to
        for name, numbers in (("q_norm", q_norm), ("k_norm", k_norm)):
            if numbers is not None:
                self._keep.append(_floats(name, numbers, (dim,)))
                setattr(self.c, name, _at(self._keep[-1]))
        if rope is not None:
            cosines = _floats("rope[0]", rope[0], (None, None))
            sines = _floats("rope[1]", rope[1], cosines.shape)
            self._keep += [cosines, sines]
            self.c.rope = _c.fovea_rope(
                cos=_at(cosines),
                sin=_at(sines),
                positions=cosines.shape[0],
                rotary_dim=2 * cosines.shape[1],
                interleaved=int(interleaved),
            )

    def __call__(self, x, residual=None, **options):
        """x [tokens][width]; options as of fovea.attend."""
        x = _floats("x", x, (None, self.parts[0].inputs))
        y, keep = np.empty((x.shape[0], self.parts[3].outputs), np.float32), []
        if residual is not None:
            residual = _floats("residual", residual, y.shape)
        call = _c.fovea_layer_call(layer=ctypes.addressof(self.c), tokens=x.shape[0])
        call.x, call.y, call.residual = (
            _c.fovea_rows_in(data=_at(x)),
            _c.fovea_rows_out(data=_at(y)),
            _c.fovea_rows_in(data=_at(residual)),
        )
        _set_options(call.how, keep, self.c.q_heads, x.shape[0], **options)
        _do(_lib.fovea_check_layer(ctypes.addressof(call)))
        memory = _scratch(_lib.fovea_layer_scratch_best(ctypes.addressof(call)))
        _do(_lib.fovea_run_layer(ctypes.addressof(call), _at(memory), memory.size))
        return y


def isa():
    return _lib.fovea_isa_name(_lib.fovea_isa()).decode()


def fixed_isa():
    return _lib.fovea_fixed_isa_name(_lib.fovea_fixed_isa()).decode()


def selftest():
    """The known answers of selftest.h: raises Refused where this machine computes other bits."""
    memory = _scratch(1 << 16)
    _do(_lib.fovea_selftest(ctypes.cast(_lib.fovea_attend_f32, ctypes.c_void_p), _at(memory), memory.size))
    _do(
        _lib.fovea_fixed_selftest(
            ctypes.cast(_lib.fovea_fixed_attend, ctypes.c_void_p), _at(memory), memory.size
        )
    )
