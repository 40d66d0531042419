"""What is counted: the targets, how each is built, and which tools look at it."""
import os
import re
import shutil
import subprocess
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
HERE = Path(__file__).resolve().parent
CROSS = "aarch64-linux-gnu-g++"


@dataclass
class Target:
    name: str            # in costs.tsv
    preset: str          # of CMakePresets.json; builds in build/<preset>
    isa: str             # the ISA whose kernels are counted, and the name of its object
    counter: str         # "qemu", "callgrind" or "" where no tool counts this ISA
    triple: str
    cores: dict = field(default_factory=dict)  # of llvm-mca: fma per cycle at best, 0 where its model gives an order only

    @property
    def folder(self):
        return ROOT / "build" / self.preset

    @property
    def library(self):
        return self.folder / "lib" / "libfovea.a"

    @property
    def program(self):
        return self.folder / "fovea_cost"

    @property
    def compiler(self):
        cache = (self.folder / "CMakeCache.txt").read_text()
        chosen = re.search(r"^CMAKE_CXX_COMPILER:\w+=(.*)$", cache, re.M)
        return chosen.group(1) if chosen else CROSS  # a toolchain file names its own


TARGETS = [
    Target("aarch64", "a76", "neon64", "qemu", "aarch64", {"neoverse-n1": 2, "cortex-a55": 0, "cortex-a53": 0}),
    Target("avx2", "host", "avx2", "callgrind", "x86_64", {"haswell": 2, "znver3": 2, "znver4": 2}),
    Target("avx512", "host", "avx512", "", "x86_64", {"znver4": 1}),
]


def obstacle(target):
    """Empty, or why the target cannot be built here."""
    if not shutil.which("cmake"):
        return "cmake is not installed"
    if target.preset != "host":
        return "" if shutil.which(CROSS) else f"{CROSS} is not installed"
    return "" if os.uname().machine == "x86_64" else "this is no x86-64 machine"


def run(command, **options):
    """Runs a tool and returns what it prints; its complaint, if it fails, ends the program."""
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True, errors="replace", **options)
    if done.returncode != 0:
        words = (done.stderr or done.stdout).strip().splitlines()[-12:]
        raise SystemExit("cost: " + " ".join(str(word) for word in command[:4]) + " failed:\n" + "\n".join(words))
    return done.stdout + done.stderr


def build(target):
    """The library, and the program that runs one work of it."""
    fresh = not (target.folder / "CMakeCache.txt").exists()
    given = os.environ.get("FOVEA_DEPS_DIR")
    run(["cmake", "--preset", target.preset, "-B", target.folder]
        + (["-G", "Ninja"] if fresh and shutil.which("ninja") else [])
        + ([f"-DFOVEA_DEPS_DIR={given}"] if given else []), cwd=ROOT)
    run(["cmake", "--build", target.folder, "-j", os.cpu_count() or 1, "--target", "fovea"], cwd=ROOT)
    run([target.compiler, "-std=c++17", "-O2", "-static", "-I", ROOT / "include", HERE / "cost_work.cpp", target.library,
         "-o", target.program])


def compiler_name(target):
    version = run([target.compiler, "-dumpfullversion", "-dumpversion"]).split()[0]
    return Path(target.compiler).name.replace("c++", "g++") + " " + version
