"""ctypes for the C headers: structs, constants and functions, from what a compiler's preprocessor leaves of
them.
"""

import re
import subprocess

from sources import ROOT, Refusal, public_headers

NUMBERS = {
    "int8_t": "c_int8",
    "int16_t": "c_int16",
    "int32_t": "c_int32",
    "uint32_t": "c_uint32",
    "float": "c_float",
    "size_t": "c_size_t",
    "ptrdiff_t": "c_ssize_t",
}


def preprocessed(compiler, root=ROOT):
    headers = [p for p in public_headers(root) if p.endswith(".h")]
    text = "".join(f'#include "{p[len("include/"):]}"\n' for p in headers)
    run = subprocess.run(
        [compiler, "-E", "-P", "-DFOVEA_API=fovea_api", f"-I{root}/include", "-x", "c", "-"],
        input=text,
        capture_output=True,
        text=True,
        check=False,
    )
    if run.returncode:
        raise Refusal(run.stderr)
    return re.sub(r"\s+", " ", run.stdout)


def constants(text):
    value = None
    for body in re.findall(r"enum \{([^}]*)\}", text):
        value = -1
        for entry in filter(None, (e.strip() for e in body.split(","))):
            name, _, given = (part.strip() for part in entry.partition("="))
            value = int(given, 0) if given else value + 1
            yield name, value


def type_of(words, stars):
    """A pointer to anything is a void pointer: numpy gives addresses."""
    if stars:
        return "c_char_p" if "char" in words else "c_void_p"
    return NUMBERS.get(words[-1], words[-1])


def fields(body):
    for declaration in filter(None, (d.strip() for d in body.split(";"))):
        words = re.match(r"((?:const |unsigned )*\w+) ?(.*)", declaration)
        for name in words.group(2).split(","):
            array = re.match(r"\s*(\**)(\w+)(?:\[(\d+)\])?$", name)
            kind = "c_void_p" if array.group(1) else type_of(words.group(1).split(), "")
            yield array.group(2), f"{kind} * {array.group(3)}" if array.group(3) else kind


def bindings(compiler="cc", root=ROOT):
    text = preprocessed(compiler, root)
    of_functions = set(re.findall(r"typedef \w+ \(\*(\w+)\)", text))  # pointers to functions
    lines = [
        '"""Structs, constants and functions of the C headers. Written by ./dev package python."""',
        "from ctypes import *",
        "",
    ]
    lines += [f"{name} = c_void_p" for name in sorted(of_functions)]
    lines += [f"{name} = {value}" for name, value in constants(text) if name.startswith("FOVEA_")]
    for name, body in re.findall(r"typedef struct (\w+) \{([^}]*)\} \w+;", text):
        lines += ["", "", f"class {name}(Structure):", "    _fields_ = ["]
        lines += [f'        ("{field}", {kind}),' for field, kind in fields(body)] + ["    ]"]
    lines += ["", "", "FUNCTIONS = {"]
    for result, name, arguments in re.findall(r"fovea_api ([\w ]+?[ *]+)(\w+)\(([^)]*)\);", text):
        kinds = []
        for argument in arguments.split(","):
            words = argument.replace("*", " * ").split()
            if words != ["void"]:
                kinds.append(
                    type_of(
                        [w for w in words[:-1] if w not in ("const", "*")],
                        "*" in words and "char" not in words,
                    )
                )
        answer = type_of(result.replace("*", "").split(), "*" in result)
        lines.append(f'    "{name}": ({answer}, [{", ".join(kinds)}]),')
    return "\n".join(lines + ["}"]) + "\n"
