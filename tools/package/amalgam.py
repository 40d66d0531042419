"""Writes fovea.h and fovea.cpp: the library as one translation unit, in which the compiler's macros choose
the kernels.

Each header is written once, where it is first needed. Headers that use instructions of one machine stay
inside the #if of the source that includes them; all others are written before it. Nothing but includes,
`#pragma once` and clashing names is changed.
"""

import re

from sources import INCLUDE, ROOT, find, included_by, license_text, listed, public_headers, version

SYSTEM = re.compile(r"^\s*#\s*include\s+<([^>]+)>")
EVERYWHERE = {
    "stddef.h",
    "stdint.h",
    "cstddef",
    "cstdint",
    "cstring",
    "type_traits",
    "utility",
    "new",
    "cmath",
}
CONDITION = re.compile(r"^\s*#\s*(if|ifdef|ifndef|elif|else|endif)\b")
ASSEMBLY = re.compile(r"\b(asm|__asm__|__asm)\b")
# A name that a source gives to a type or a constant, at the margin.
OWN = re.compile(r"^(?:struct|using|constexpr \w+) (\w+)(?: =| :| \{)", re.M)
# Where Helium may be used. What clang 19 makes of lib/layer with Helium computes wrong sizes, and only
# integers gain by it.
HELIUM = re.compile(r"^lib/(fixed|linear|cache)/|^lib/isa/fixed_")

REFUSALS = """
#if !defined(__cplusplus) || __cplusplus < 201703L
#error "fovea.cpp is C++17: compile it with -std=c++17 (or gnu++17, or newer)"
#endif
#if !defined(__GNUC__) && !defined(__clang__)
#error "fovea.cpp needs gcc or clang: Arm Compiler 6 is one, Arm Compiler 5, IAR and Visual C++ are not"
#endif
#if defined(__x86_64__) && !defined(__FMA__) && !defined(FOVEA_WITH_SCALAR_NO_FMA)
#error "fovea.cpp has the common bits on x86 with -mfma (or -march=haswell, -march=native); \\
-DFOVEA_WITH_SCALAR_NO_FMA=1 -DFOVEA_WITH_FIXED_SCALAR=1 takes bits of its own instead"
#endif
#if defined(__linux__) && defined(__arm__) && __ARM_ARCH >= 7 && !defined(__ARM_FEATURE_FMA)
#error "fovea.cpp has the common bits on 32-bit Arm with -mfpu=neon-vfpv4"
#endif
#if defined(__ARM_FEATURE_MVE) && (__ARM_FEATURE_MVE & 2)
// The pragmas below keep floats out of Helium, which would flush denormals and lose NaN.
#define FOVEA_NO_FLOAT_VECTORS 1
#if !defined(__clang__)
#pragma GCC optimize("no-tree-vectorize", "no-tree-slp-vectorize")
#endif
#endif
// Flags with too few registers for the assembly of Thumb-1 and DSP: plain C++ instead.
#if !defined(__OPTIMIZE__) || (defined(__OPTIMIZE_SIZE__) && defined(__arm__) && __ARM_ARCH < 7)
#define FOVEA_WITHOUT_ASSEMBLY 1
#endif
#if defined(__clang__)
#pragma clang diagnostic ignored "-Wignored-pragmas"
#pragma clang diagnostic ignored "-Wunused-const-variable"
#if defined(__ARM_FEATURE_MVE)
#pragma clang diagnostic ignored "-Wpragma-clang-attribute"
#endif
#endif
#pragma GCC diagnostic ignored "-Wshadow" // a name at the margin of one source may be a local one of another
#pragma GCC diagnostic ignored "-Wunused-function" // helpers of kernels that this build has none of
"""


def switches(path, tuned):
    """Lines that open and close what the pragmas of a compiler change for one file."""
    target = "no-mve.fp" if HELIUM.search(path) else "no-mve"
    begin = [
        "#if defined(__clang__) && defined(__ARM_FEATURE_MVE)",
        f'#pragma clang attribute push(__attribute__((target("{target}"))), apply_to = function)',
    ]
    end = ["#if defined(__clang__) && defined(__ARM_FEATURE_MVE)", "#pragma clang attribute pop"]
    if tuned:
        begin += [
            "#elif !defined(__clang__) && FOVEA_WITH_FIXED_CORTEX_M && __ARM_ARCH >= 7",
            "#pragma GCC push_options",
            '#pragma GCC optimize("O2", "no-branch-count-reg")',
        ]
        end += [
            "#elif !defined(__clang__) && FOVEA_WITH_FIXED_CORTEX_M && __ARM_ARCH >= 7",
            "#pragma GCC pop_options",
        ]
    return begin + ["#endif"], end + ["#endif"]


class Amalgam:
    def __init__(self, root=ROOT):
        self.root = root
        self.lines = []
        self.written = set(public_headers(root))  # they are in fovea.h
        self.macros = set()  # names that have been defined, whatever the target
        self.special = {}
        self.clashes = self.find_clashes()
        sources = set(listed(root))
        kernel = {p for p in sources if p.startswith("lib/isa/")}
        # The integer kernel of a microcontroller is compiled for speed, as CMake does: half of its code is
        # hot, and Thumb-1 loses its high registers otherwise.
        self.tuned = self.closure({"lib/isa/fixed_cortex_m.cpp"}) - self.closure(sources - kernel)

    def closure(self, paths):
        known, waiting = set(), set(paths)
        while waiting:
            path = waiting.pop()
            known.add(path)
            waiting |= set(included_by(path, self.root)) - known
        return known

    def text(self, path):
        return (self.root / path).read_text(encoding="utf-8")

    def of_one_machine(self, path):
        """Does it, or what it includes, need a header or an instruction that not every target has?"""
        if path not in self.special:
            self.special[path] = False  # while it is being asked
            text = self.text(path)
            foreign = {m.group(1) for m in map(SYSTEM.match, text.splitlines()) if m} - EVERYWHERE
            assembly = path.startswith("lib/fixed/dot/") and ASSEMBLY.search(text)
            self.special[path] = bool(foreign or assembly) or any(
                self.of_one_machine(p) for p in included_by(path, self.root)
            )
        return self.special[path]

    def find_clashes(self):
        """Types and constants of the same name in unnamed namespaces of several sources: {name}."""
        sources, clashes = {}, set()
        for path in listed(self.root):
            for name in set(OWN.findall(self.text(path))):
                if name in sources:
                    clashes.add(name)
                sources[name] = path
        return clashes

    def own_names(self, path, text):
        """Clashing names get the name of their source."""
        stem = re.sub(r"\W", "_", path[len("lib/") :].rsplit(".", 1)[0]).replace("isa_fixed_", "")
        for name in self.clashes:
            if name in OWN.findall(text):
                text = re.sub(rf"(?<![\w.:>/\"]){name}\b(?!\.hpp)", f"{stem}_{name}", text)
        return text

    def hoist(self, path):
        """Writes what a source includes within conditions, as far as every target can read it."""
        for other in included_by(path, self.root):
            if other not in self.written and "#pragma once" in self.text(other):
                if self.of_one_machine(other):
                    self.hoist(other)
                else:
                    self.write(other, 0)

    def write(self, path, depth):
        text = self.text(path)
        once = "#pragma once" in text
        is_source = path.endswith(".cpp")
        if is_source:
            text = self.own_names(path, text)
        if once and depth == 0:
            self.written.add(path)
        if once and self.of_one_machine(path):
            self.hoist(path)
        elif is_source:
            self.hoist(path)
        if is_source or once:
            self.lines += ["", f"// {path}"]
        guard = "FOVEA_FILE_" + re.sub(r"\W", "_", path).upper()
        if once and depth:
            self.lines += [f"#ifndef {guard}", f"#define {guard} 1"]
        begin, end = switches(path, path in self.tuned)
        if is_source or once:
            self.lines += begin
        self.write_lines(path, text, depth + (1 if once and depth else 0), is_source or once)
        if is_source or once:
            self.lines += end
        if once and depth:
            self.lines += ["#endif"]

    def write_lines(self, path, text, depth, may_switch):
        outer, skipping = depth, 0
        begin, end = switches(path, path in self.tuned)
        for line in text.splitlines():
            condition = CONDITION.match(line)
            kind = condition.group(1) if condition else ""
            if skipping:
                skipping += {"if": 1, "ifdef": 1, "ifndef": 1, "endif": -1}.get(kind, 0)
                continue
            guard = re.match(r"#ifndef (\w+)$", line)
            if guard and guard.group(1) in self.macros:  # written before, for every target
                skipping = 1
                continue
            if kind in ("if", "ifdef", "ifndef"):
                depth += 1
            elif kind == "endif":
                depth -= 1
            name = re.match(r"#define (\w+)$", line)
            if name and depth == outer + 1 and outer == 0 and f"#ifndef {name.group(1)}" in self.lines[-1:]:
                self.macros.add(name.group(1))
            include = INCLUDE.match(line)
            if include:
                self.include(path, find(include.group(1), self.root), depth, may_switch)
            elif SYSTEM.match(line) and may_switch:
                if (line, 0) not in self.written:
                    self.lines += end + [line] + begin
                if depth == 0:
                    self.written.add((line, 0))
            elif line != "#pragma once":
                self.lines.append(line)

    def include(self, path, other, depth, may_switch):
        if other in self.written:
            return
        if "#pragma once" not in self.text(other):  # a list, which is read again and again
            self.write_lines(other, self.text(other), depth, False)
            return
        begin, end = switches(path, path in self.tuned)
        if may_switch:
            self.lines += end
        self.write(other, depth)
        if may_switch:
            self.lines += begin

    def source(self):
        self.lines += [
            f"// fovea {version(self.root)}: the library in one file. Written by ./dev package amalgam."
        ]
        self.lines += ["/* " + license_text(self.root).rstrip().replace("\n", "\n * ") + " */"]
        self.lines += REFUSALS.strip().splitlines() + ['#include "fovea.h"']
        self.write("lib/common/build.hpp", 0)
        for path in listed(self.root):
            self.write(path, 0)
        return tidy(self.lines)


def tidy(lines):
    """Leaves out what a file switches and does not use, and empty lines in rows."""
    text = "\n".join(lines) + "\n"
    for target in ("lib/fixed/", "lib/f32/"):
        for tuned in (False, True):
            begin, end = ("\n".join(part) + "\n" for part in switches(target, tuned))
            text = re.sub(re.escape(begin) + r"((?:\n|//[^\n]*\n)*)" + re.escape(end), r"\1", text)
            text = re.sub(re.escape(end) + r"(\n*)" + re.escape(begin), r"\1", text)
    return re.sub(r"\n{3,}", "\n\n", text)


def header(root=ROOT):
    """All public headers, those of C++ behind a condition."""
    lines = [
        f"/* fovea {version(root)}: all public headers in one file. Written by ./dev package amalgam. */",
        "/* " + license_text(root).rstrip().replace("\n", "\n * ") + " */",
    ]
    in_cpp = False
    for path in public_headers(root):
        if path.endswith(".hpp") and not in_cpp:
            in_cpp = True
            lines += [
                "",
                "#if defined(__cplusplus) && __cplusplus >= 201703L",
                "#ifndef FOVEA_HPP",
                "#define FOVEA_HPP",
            ]
        lines += ["", f"/* {path} */"]
        lines += [
            line
            for line in (root / path).read_text(encoding="utf-8").splitlines()
            if not INCLUDE.match(line) and line != "#pragma once"
        ]
    return re.sub(r"\n{3,}", "\n\n", "\n".join(lines + ["#endif", "#endif"]) + "\n")


def write(folder, root=ROOT):
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "fovea.h").write_text(header(root), encoding="utf-8")
    (folder / "fovea.cpp").write_text(Amalgam(root).source(), encoding="utf-8")
