"""Arrays, scales and golden vectors as a C header, for the firmware's own check."""

import numpy as np

_NAMES = {
    "float32": "float",
    "float16": "uint16_t",
    "int8": "int8_t",
    "int16": "int16_t",
    "int32": "int32_t",
    "uint8": "uint8_t",
}


def _numbers(x):
    if x.dtype == np.float32:  # exact: hexadecimal floats are C99
        return [
            (
                f"{float(v).hex()}f"
                if np.isfinite(v)
                else {True: "NAN"}.get(np.isnan(v), "-INFINITY" if v < 0 else "INFINITY")
            )
            for v in x
        ]
    if x.dtype == np.float16:
        x = x.view(np.uint16)
    return [str(int(v)) for v in x]


class Header:
    """h = Header("golden"); h.array("q", q); h.scale("scale", s); h.constant("KEYS", 64); h.write("golden.h")"""

    def __init__(self, name):
        self.name, self.lines = name, []

    def constant(self, name, value):
        self.lines.append(f"enum {{ {self.name.upper()}_{name} = {int(value)} }};")

    def array(self, name, x):
        """A const array, aligned for the library; its shape stands in a comment."""
        x = np.asarray(x)
        if str(x.dtype) not in _NAMES:
            raise TypeError(f"{name} is of {x.dtype}: give {' or '.join(_NAMES)}")
        shape = "".join(f"[{n}]" for n in x.shape)
        numbers = _numbers(np.ascontiguousarray(x).reshape(-1))
        self.lines.append(
            f"/* {shape} */\n{self.name.upper()}_ALIGN static const {_NAMES[str(x.dtype)]} {self.name}_{name}[{len(numbers)}] = {{"
        )
        for at in range(0, len(numbers), 8):
            self.lines.append("  " + ", ".join(numbers[at : at + 8]) + ",")
        self.lines.append("};")

    def linear(self, name, linear):
        """Packed weights, for a fovea_linear in flash."""
        self.array(f"{name}_packed", linear.packed)
        if linear.bias is not None:
            self.array(f"{name}_bias", linear.bias)
        for part in ("inputs", "outputs", "dtype"):
            self.constant(f"{name}_{part}".upper(), getattr(linear, part))

    def scale(self, name, s):
        numbers = ", ".join(
            f".{field} = {getattr(s, field)}"
            for field in ("score_multiplier", "score_shift", "score_pre_shift", "out_multiplier", "out_shift")
        )
        self.lines.append(
            f"#define {self.name.upper()}_{name.upper()} {{ {numbers}, .f32_scale = {s.f32_scale}u }}"
        )

    def text(self):
        guard = self.name.upper() + "_H"
        align = f"#if defined(__GNUC__)\n#define {self.name.upper()}_ALIGN __attribute__((aligned(64)))\n#else\n#define {self.name.upper()}_ALIGN\n#endif"
        return (
            f"/* Written by the Python package fovea. Floats are exact. */\n#ifndef {guard}\n#define {guard}\n#include <math.h>\n#include <stdint.h>\n"
            f"{align}\n" + "\n".join(self.lines) + "\n#endif\n"
        )

    def write(self, path):
        with open(path, "w", encoding="utf-8") as file:
            file.write(self.text())
