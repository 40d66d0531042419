"""Bytes of code: of each ISA's object, and of those functions in it that plain attention enters."""
import re
from pathlib import Path

from targets import run


def objects(target, folder):
    """name -> path of the objects of one ISA each, taken out of the library. (Other objects may share a name, and do not matter.)"""
    folder = Path(folder) / target.preset
    folder.mkdir(exist_ok=True)
    run(["ar", "x", target.library.resolve()], cwd=folder)
    return {path.name.split(".")[0]: path for path in sorted(folder.glob("*.cpp.o*")) if _holds_a_kernel(path)}


def _holds_a_kernel(object_file):
    symbols = [words.split() for words in run(["readelf", "-sW", object_file]).splitlines()]
    return any(words[-1].endswith(("_kernelE", "9attentionE")) and "UND" not in words for words in symbols if words)


def text_bytes(object_file):
    """Sum of the sections of code."""
    sections = re.findall(r"\] (\.text\S*)\s+PROGBITS\s+\S+ \S+ (\S+)", run(["readelf", "-SW", object_file]))
    return sum(int(size, 16) for _, size in sections)


def linked_bytes(target, call):
    """Code and constants that one call brings into the image of a board."""
    sections = re.findall(r"\] (\.text|\.rodata)\S*\s+PROGBITS\s+\S+ \S+ (\S+)", run(["readelf", "-SW", target.folder / f"fovea_linked_{call}"]))
    return sum(int(size, 16) for _, size in sections)


def function_bytes(object_file):
    """symbol -> bytes."""
    return {words[7]: int(words[2], 0) for words in map(str.split, run(["readelf", "-sW", object_file]).splitlines())
            if len(words) == 8 and words[3] == "FUNC"}
