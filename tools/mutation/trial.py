"""Builds the library with one mutant and runs the tests on it.

The test programs are compiled once. A mutant costs those objects of the library that include its file, at -O1, a link and the tests,
the quick ones first. Kernels go in stages: a library that holds only the plain ISA, then AVX2 beside it, then all, so that most mutants
are killed before the slow files are compiled. Each stage has a table of kernels of its own: no two objects disagree on what a header says."""
import json
import os
import platform
import re
import resource
import shlex
import shutil
import signal
import subprocess
import tempfile
from pathlib import Path

KILLED, SURVIVED, SAME, BROKEN = "killed", "survived", "same object code", "does not compile"
LOOP = "ran too long"
QUICK, SLOW = 0.6, 2.5  # seconds of tests in the first runs; the rest runs last
STAGES = (("scalar",), ("scalar", "avx2"), None)  # None: all

ASK_ISAS = """#include "fovea/fixed.h"
#include <stdio.h>
int main(void) {
  for (int i = 1; i < FOVEA_ISA_END; ++i) if (fovea_has_isa(i)) puts(fovea_isa_name(i));
  for (int i = 1; i < FOVEA_FIXED_ISA_END; ++i) if (fovea_fixed_has_isa(i)) printf("fixed_%s\\n", fovea_fixed_isa_name(i));
  return 0;
}
"""


def run(command, **more):
    return subprocess.run(command, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, **more)


def quick_compiler():
    """clang, where there is one: it needs half the time of gcc."""
    return next((name for v in range(25, 13, -1) if (name := shutil.which(f"clang++-{v}"))), shutil.which("clang++"))


def must(command, **more):
    done = run(command, **more)
    if done.returncode:
        raise SystemExit(f"mutate: {shlex.join(map(str, command))[:200]} failed:\n{done.stdout[-2000:]}")
    return done.stdout


def most_seconds(usual):
    """Of CPU, for tests that usually take so long: more is an endless loop."""
    return min(20, round(5 + 4 * usual))


def failing_in(words):
    """The names of the tests that failed, from what doctest prints."""
    return [part.splitlines()[0].strip() for part in words.split("TEST CASE:")[1:] if "ERROR:" in part]


def limited(seconds):
    def limit():
        resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds + 2))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))

    return limit


class Source:
    """A source of the library: how it is compiled, and which ISA it is, if it is a kernel."""

    def __init__(self, entry, lib):
        self.folder, self.path = entry["directory"], Path(entry["file"])
        self.name = str(self.path.relative_to(lib))
        self.isa = self.path.stem if self.path.parent.name == "isa" else None
        words = shlex.split(entry["command"])
        out = words.index("-o")
        del words[out : out + 2]
        if "ccache" in words[0]:  # each mutant is compiled once
            del words[0]
        words[0] = quick_compiler() or words[0]
        self.words = [w for w in words if not w.startswith("-W")] + ["-O1", "-w"]
        self.headers = None  # compiled once
        self.chooses = any(w.startswith("-DFOVEA_WITH_") for w in words) and self.path.name == "dispatch.cpp"

    def command(self, lib, tree_lib, to, isas=None):
        def kept(word):
            built = re.fullmatch(r"-DFOVEA_WITH_(?:FIXED_)?(.*)=1", word)
            return isas is None or not self.chooses or not built or built[1].lower() in isas or built[1] == "S16"

        words = [w.replace(str(lib), str(tree_lib)) for w in self.words if kept(w)]
        return [*words, *(["-include-pch", str(self.headers)] if self.headers else []), "-o", str(to)]

    def compile_headers(self, folder):
        """With clang, the system headers of an x86 kernel are compiled once: they are a third of its time."""
        if "clang" not in self.words[0] or platform.machine() != "x86_64" or self.isa in (None, "scalar", "fixed_scalar"):
            return
        text = folder / f"{self.isa}.hpp"
        text.write_text("#include <immintrin.h>\n" if self.isa.startswith("fixed_") else "#include <xsimd/xsimd.hpp>\n")
        words = [w for w in self.words if w not in ("-c", str(self.path))]
        headers = folder / f"{self.isa}.pch"
        must([*words, "-x", "c++-header", text, "-o", headers], cwd=self.folder)
        self.headers = headers


class Base:
    """What all trials share: compiled tests, the unchanged library in each stage, and how long each test takes."""

    def __init__(self, root, folder, environment):
        self.root, self.lib, self.folder, self.environment = root, root / "lib", folder, environment
        build = folder / "base"
        generator = ["-G", "Ninja"] if shutil.which("ninja") else []
        off = [f"-DFOVEA_BUILD_{part}=OFF" for part in ("BENCH", "TOOLS", "EXAMPLES")]
        made = (build / "CMakeCache.txt").exists()
        must(["cmake", "--preset", "host", "-B", build, "-DCMAKE_EXPORT_COMPILE_COMMANDS=ON", *off, *([] if made else generator)], cwd=root)
        must(["cmake", "--build", build, "--target", "test_programs", "-j", str(os.cpu_count())])
        entries = json.loads((build / "compile_commands.json").read_text())
        self.sources = [Source(e, self.lib) for e in entries if Path(e["file"]).is_relative_to(self.lib)]
        self.compiler = self.sources[0].words[0]
        self.tests = {name: self.join_tests(build, name) for name in ("fovea_tests", "fovea_integer_tests")}
        self.objects, self.depends, self.lines = {}, {}, {}
        self.leave_out_what_cannot_run(build / "lib" / "libfovea.a")
        self.compile_library()
        self.stages = [s for s in STAGES if self.sources_of(s) != self.sources_of(None)] + [None]
        self.durations = {}
        for stage in self.stages:
            self.time_tests(stage)

    def join_tests(self, build, name):
        lists = [(build / f"tests/{part}_objects.txt").read_text().splitlines() for part in (f"{name}_code", "fovea_test_main")]
        own = sorted((build / f"tests/CMakeFiles/{name}.dir").glob("**/*.o"))
        objects = [o for o in [*sum(lists, []), *own] if str(o).endswith(".o")]  # not precompiled headers
        joined = self.folder / f"{name}.o"
        examples = sorted((build / "examples").glob("*/lib*.a"))  # which some tests are of
        must(["ld", "-r", "-o", joined, *objects, *examples])
        return joined

    def compile_library(self):
        objects = self.folder / f"kernels-{Path(self.compiler).name}"
        objects.mkdir(exist_ok=True)
        for source in self.sources:
            source.compile_headers(objects)
        for stage in STAGES:
            for source in self.sources:
                key = self.key(source, stage)
                if key in self.objects:
                    continue
                to = objects / (re.sub(r"\W+", "-", "-".join(map(str, key))) + ".o")
                rule, text = to.with_suffix(".d"), to.with_suffix(".i")
                if not self.is_newest(to, rule):
                    must([*source.command(self.lib, self.lib, text, stage), "-E"], cwd=source.folder)
                    must([*source.command(self.lib, self.lib, to, stage), "-MMD", "-MF", rule], cwd=source.folder)
                self.objects[key] = to
                if source.name not in self.idle:
                    self.add_lines(text)
                self.depends[key] = set(rule.read_text().replace("\\\n", " ").split()[1:])

    def add_lines(self, preprocessed):
        """Notes which lines of the library are left by the preprocessor."""
        lines = None
        for text in preprocessed.read_text().splitlines():
            if mark := re.match(r'# (\d+) "([^"]*)"', text):
                number, file = int(mark[1]), Path(mark[2])
                lines = self.lines.setdefault(str(file.relative_to(self.root)), set()) if file.is_relative_to(self.lib) else None
                continue
            if lines is not None and text.strip():
                lines.add(number)
            number += 1

    def is_newest(self, to, rule):
        if not (to.exists() and rule.exists() and to.with_suffix(".i").exists()):
            return False
        inputs = rule.read_text().replace("\\\n", " ").split()[1:]
        return all(os.path.exists(i) and os.path.getmtime(i) < to.stat().st_mtime for i in inputs)

    def key(self, source, stage):
        return (source.name, *(stage or ["all"])) if source.chooses else (source.name,)

    def sources_of(self, stage):
        def held(isa):
            return isa is None or stage is None or isa.removeprefix("fixed_") in stage

        return [s for s in self.sources if held(s.isa)]

    def leave_out_what_cannot_run(self, library):
        ask, program = self.folder / "isas.c", self.folder / "isas"
        ask.write_text(ASK_ISAS)
        must([self.compiler, "-I", self.root / "include", "-x", "c++", ask, "-x", "none", library, "-o", program])
        runs = set(must([program]).split())
        self.idle = {s.name for s in self.sources if s.isa and s.isa not in runs}

    def library(self, changed, stage):
        return [changed.get(self.key(s, stage), self.objects[self.key(s, stage)]) for s in self.sources_of(stage)]

    def link(self, tests, library, to):
        gold = ["-fuse-ld=gold"] if shutil.which("ld.gold") else []
        return run([self.compiler, *gold, self.tests[tests], *library, "-lpthread", "-o", to]).returncode == 0

    def time_tests(self, stage):
        """Tests in lists: those that are done in a moment, then slower ones, then the rest. A library that lacks kernels may fail a test
        that misses them: this stage does without it."""
        for tests in self.tests:
            program = self.folder / "unchanged"
            if not self.link(tests, self.library({}, stage), program):
                raise SystemExit(f"mutate: {tests} does not link.")
            words = run([program, "--duration=true", "--no-colors=true"], env=self.environment).stdout
            failing = failing_in(words)
            if failing and stage is None:
                raise SystemExit(f"mutate: tests fail without a mutant: {', '.join(failing)}")
            timed = sorted((float(t), n) for t, n in re.findall(r"^([\d.]+) s: (.*)$", words, re.M) if n not in failing)
            lists, usual, sum_ = ([], [], []), [0.0, 0.0, 0.0], 0.0
            for seconds, name in timed:
                sum_ += seconds
                level = 0 if sum_ < QUICK else 1 if sum_ < SLOW else 2
                lists[level].append(name)
                usual[level] += seconds
            self.durations[stage, tests] = list(zip(lists, usual))


class Tree:
    """A copy of lib in which one file at a time is changed."""

    def __init__(self, base, number):
        self.base, self.folder = base, base.folder / f"tree{number}"
        self.lib = self.folder / "lib"
        shutil.rmtree(self.folder, ignore_errors=True)
        shutil.copytree(base.lib, self.lib)

    def judge(self, mutant):
        """The verdict, and what gave it."""
        copy = self.folder / mutant.file
        text = copy.read_text()
        copy.write_text(mutant.applied_to(text))
        try:
            return self.try_stages(str(self.base.root / mutant.file))
        finally:
            copy.write_text(text)

    def try_stages(self, file):
        changed, compiled = {}, {}
        for stage in self.base.stages:
            news = self.compile(file, stage, compiled)
            if news is None:
                return BROKEN, ""
            changed |= news
            of_stage = {self.base.key(s, stage) for s in self.base.sources_of(stage)} & changed.keys()
            if of_stage:
                if killer := self.killer(changed, stage, levels=3 if stage is None else 1):
                    return KILLED, killer
        return (SURVIVED, "") if changed else (SAME, "")

    def compile(self, file, stage, compiled):
        """Objects of the stage that are others than without the mutant, or None if one does not compile."""
        base, changed = self.base, {}
        for source in base.sources_of(stage):
            key = base.key(source, stage)
            if key in compiled or file not in base.depends[key] or source.name in base.idle:
                continue
            to = self.folder / base.objects[key].name
            if run(source.command(base.lib, self.lib, to, stage), cwd=source.folder).returncode:
                return None
            compiled[key] = to
            if to.read_bytes() != base.objects[key].read_bytes():
                changed[key] = to
        return changed

    def killer(self, changed, stage, levels):
        """The test that fails, or None; of the lists of tests the first ones."""
        programs, library = {}, self.base.library(changed, stage)
        likely_first = sorted(self.base.tests, reverse=not all("fixed" in key[0] for key in changed), key=lambda t: t == "fovea_tests")
        for level in range(levels):
            for tests in likely_first:
                names, usual = self.base.durations[stage, tests][level]
                if not names:
                    continue
                if tests not in programs:
                    programs[tests] = self.folder / tests
                    if not self.base.link(tests, library, programs[tests]):
                        return "does not link"
                if killer := self.failing(programs[tests], names, most_seconds(usual)):
                    return killer
        return None

    def failing(self, program, names, seconds):
        chosen = "--test-case=" + ",".join(re.sub(r"[,*\"\\]", "?", n) for n in names)
        command = [program, chosen, "--abort-after=1", "--no-colors=true"]
        with tempfile.TemporaryFile() as log:
            process = subprocess.Popen(command, stdout=log, stderr=log, env=self.base.environment, preexec_fn=limited(seconds),
                                       start_new_session=True)
            try:
                code = process.wait(timeout=20 * seconds)
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()
                return LOOP
            if code == 0:
                return None
            if code in (-signal.SIGXCPU, -signal.SIGKILL):
                return LOOP
            log.seek(0)
            failed = failing_in(log.read().decode(errors="replace"))
            return failed[0] if failed else f"code {code}"
