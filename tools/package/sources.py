"""What the library consists of: sources from lib/sources.txt, the headers that they include, version and
license.
"""

import pathlib
import re

ROOT = pathlib.Path(__file__).resolve().parents[2]
INCLUDE = re.compile(r'^\s*#\s*include\s+"([^"]+)"', re.M)
FOLDERS = ("include", "lib", "")  # where quotes are looked up, relative to ROOT


class Refusal(Exception):
    """A sentence for whoever runs ./dev package."""


def listed(root=ROOT):
    """{path of a source: what it is for}, in the order of lib/sources.txt."""
    answer = {}
    for line in (root / "lib/sources.txt").read_text(encoding="utf-8").splitlines():
        if line and not line.startswith("#"):
            name, _, purpose = line.partition(" ")
            answer["lib/" + name] = purpose.strip()
    return answer


def find(name, root=ROOT):
    """The path of an included file, relative to the root."""
    for folder in FOLDERS:
        path = f"{folder}/{name}" if folder else name
        if (root / path).is_file():
            return path
    raise Refusal(f"there is no {name}, which a source of the library includes")


def included_by(path, root=ROOT):
    return [find(name, root) for name in INCLUDE.findall((root / path).read_text(encoding="utf-8"))]


def public_headers(root=ROOT):
    """C headers first, each behind those it includes."""
    answer = []

    def visit(path):
        if path in answer:
            return
        for other in included_by(path, root):
            visit(other)
        answer.append(path)

    paths = sorted(str(p.relative_to(root)) for p in (root / "include/fovea").iterdir())
    for path in sorted(paths, key=lambda p: (p.endswith(".hpp"), p != "include/fovea/fovea.h", p)):
        visit(path)
    return answer


def library(root=ROOT):
    """All files that a compiler reads: sources, and headers found through their includes. Sorted."""
    known = set(public_headers(root))
    waiting = list(listed(root)) + list(known)
    while waiting:
        path = waiting.pop()
        if not (root / path).is_file():
            raise Refusal(f"lib/sources.txt lists {path}, which is not there")
        known.add(path)
        waiting += [p for p in included_by(path, root) if p not in known]
    return sorted(known)


def forgotten(root=ROOT):
    """Files of the tree that no package would hold."""
    held = set(library(root))
    tree = [p for folder in ("include", "lib", "platforms") for p in (root / folder).rglob("*")]
    code = [p.relative_to(root) for p in tree if p.suffix in (".h", ".hpp", ".cpp")]
    return sorted(str(p) for p in code if str(p) not in held and not str(p).startswith(("platforms/cortex-m/", "platforms/riscv32/")))


def version(root=ROOT):
    text = (root / "include/fovea/fovea.h").read_text(encoding="utf-8")
    number = re.search(r"^#define FOVEA_VERSION (\d+)$", text, re.M)
    if not number:
        raise Refusal("include/fovea/fovea.h has no line #define FOVEA_VERSION")
    number = int(number.group(1))
    return f"{number // 10000}.{number // 100 % 100}.{number % 100}"


def license_text(root=ROOT):
    path = root / "LICENSE"
    if not path.is_file():
        raise Refusal("there is no LICENSE at the root: no package may leave without it")
    return path.read_text(encoding="utf-8")
