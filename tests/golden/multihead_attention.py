#!/usr/bin/env python3
"""Writes multihead_attention.inc: results of torch.nn.MultiheadAttention, computed in float64.

Weights and inputs are those of data::noise (tests/data.hpp), so only results are stored. It needs torch:
python3 tests/golden/multihead_attention.py > tests/golden/multihead_attention.inc
"""
import torch


def noise(seed, index):
    """data::noise: a multiple of 2^-23 in [-1, 1)."""
    mask = 0xFFFFFFFF
    x = (seed * 0x9E3779B1 + index) & mask
    x = ((x ^ (x >> 16)) * 0x7FEB352D) & mask
    x = ((x ^ (x >> 15)) * 0x846CA68B) & mask
    x ^= x >> 16
    return ((x >> 8) - (1 << 23)) / (1 << 23)


def drawn(seed, *shape):
    count = 1
    for n in shape:
        count *= n
    return torch.tensor([noise(seed, i) for i in range(count)], dtype=torch.float64).reshape(shape)


CASES = [  # name, embed_dim, heads, kdim, vdim, bias, batch, tokens, keys, lengths, causal
    ("packed", 16, 4, None, None, True, 1, 5, None, None, False),
    ("packed_without_bias_causal", 24, 3, None, None, False, 1, 6, None, None, True),
    ("packed_padded", 16, 2, None, None, True, 3, 4, None, (4, 1, 3), False),
    ("packed_cross", 32, 2, None, None, True, 2, 3, 5, (5, 2), False),
    ("separate", 16, 2, 12, 20, True, 1, 4, 6, None, False),
    ("separate_without_bias_padded", 20, 4, 8, 7, False, 2, 3, 4, (2, 4), False),
]


def attention(embed, heads, kdim, vdim, bias):
    module = torch.nn.MultiheadAttention(embed, heads, bias=bias, kdim=kdim, vdim=vdim, batch_first=True)
    module = module.double()
    with torch.no_grad():
        if kdim is None:
            module.in_proj_weight.copy_(drawn(1, 3 * embed, embed))
        else:
            module.q_proj_weight.copy_(drawn(2, embed, embed))
            module.k_proj_weight.copy_(drawn(3, embed, kdim))
            module.v_proj_weight.copy_(drawn(4, embed, vdim))
        module.out_proj.weight.copy_(drawn(5, embed, embed))
        if bias:
            module.in_proj_bias.copy_(drawn(6, 3 * embed))
            module.out_proj.bias.copy_(drawn(7, embed))
    return module.eval()


def show(name, numbers):
    words = []
    for x in numbers.flatten().tolist():
        word = repr(float(f"{x:.9g}"))
        words.append(word + "f," if "." in word or "e" in word else word + ".0f,")
    print(f"constexpr float {name}[] = {{")
    for i in range(0, len(words), 8):
        print("    " + " ".join(words[i:i + 8]))
    print("};")


print(f"// Made by multihead_attention.py with torch {torch.__version__.split('+')[0]}.")
for name, embed, heads, kdim, vdim, bias, batch, tokens, keys, lengths, causal in CASES:
    module = attention(embed, heads, kdim, vdim, bias)
    query = drawn(8, batch, tokens, embed)
    key = query if keys is None else drawn(9, batch, keys, kdim or embed)
    value = key if keys is None or kdim is None else drawn(10, batch, keys, vdim)
    padding = None
    if lengths is not None:
        padding = torch.tensor([[j >= n for j in range(key.shape[1])] for n in lengths])
    mask = torch.ones(tokens, tokens, dtype=torch.bool).triu(1) if causal else None
    with torch.no_grad():
        y, weights = module(query, key, value, key_padding_mask=padding, attn_mask=mask,
                            average_attn_weights=False)
    show(f"{name}_y", y)
    show(f"{name}_weights", weights)
