"""What is counted: the targets, how each is built, and which tools look at it."""
import os
import re
import shutil
import subprocess
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
HERE = Path(__file__).resolve().parent


@dataclass
class Target:
    name: str            # in costs.tsv
    preset: str          # of CMakePresets.json; builds in build/<preset>
    isa: str             # the float ISA whose kernels are counted, and the name of its object; "" = no floats
    emulator: list       # runs fovea_cost; empty = this machine does
    counter: str = ""    # "qemu", "callgrind" or "" where no tool counts this ISA
    integer_isas: list = field(default_factory=list)
    triple: str = ""
    cores: dict = field(default_factory=dict)  # of llvm-mca: fma per cycle at best, 0 where its model gives an order only
    bare: bool = False   # a board: small works, and the size of what a call links
    built: str = ""      # a fovea_cost that another project built; empty = ours

    @property
    def folder(self):
        return ROOT / "build" / self.preset

    @property
    def library(self):
        return self.folder / "lib" / "libfovea.a"

    @property
    def program(self):
        return Path(self.built) if self.built else self.folder / "fovea_cost"

    @property
    def compiler(self):
        chosen = next(self.folder.glob("CMakeFiles/*/CMakeCXXCompiler.cmake")).read_text()
        return re.search(r'^set\(CMAKE_CXX_COMPILER "(.*)"\)$', chosen, re.M).group(1)


def _board(name, machine, isa, floats=""):
    emulator = ["qemu-system-arm", "-M", machine, "-display", "none", "-monitor", "none", "-serial", "none", "-no-reboot"]
    return Target(name, name, floats, emulator, "qemu", [isa], bare=True)


TARGETS = [
    Target("aarch64", "a76", "neon64", ["qemu-aarch64", "-cpu", "max"], "qemu", ["neon", "dotprod", "i8mm"], "aarch64",
           {"neoverse-n1": 2, "cortex-a55": 0, "cortex-a53": 0}),
    Target("avx2", "host", "avx2", [], "callgrind", ["avx2"], "x86_64", {"haswell": 2, "znver3": 2, "znver4": 2}),
    Target("avx512", "host", "avx512", [], "", [], "x86_64", {"znver4": 1}),
    _board("m0", "mps2-an385", "thumb"),
    _board("m3", "mps2-an385", "scalar"),
    _board("m4", "mps2-an386", "dsp", floats="scalar"),
    _board("m55", "mps3-an547", "helium", floats="helium"),
]


def obstacle(target):
    """Empty, or why the target cannot be built here."""
    if not shutil.which("cmake"):
        return "cmake is not installed"
    if target.preset == "host":
        return "" if os.uname().machine == "x86_64" else "this is no x86-64 machine"
    compiler = "arm-none-eabi-g++" if target.bare else "aarch64-linux-gnu-g++"
    return "" if shutil.which(compiler) else f"{compiler} is not installed"


def say(text):
    print(text, flush=True)


def call(target, words, options=(), program=""):
    """The command that runs fovea_cost, or another program, with these words, under the target's emulator with more options."""
    path = target.folder / program if program else target.program
    if not target.bare:
        return [*target.emulator, *options, path, *words]
    heard = "enable=on,target=native,arg=fovea_cost" + "".join(",arg=" + word.replace(" ", "_") for word in words)
    return [*target.emulator, *options, "-semihosting-config", heard, "-kernel", path]


def run(command, **options):
    """Runs a tool and returns what it prints; its complaint, if it fails, ends the program."""
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True, errors="replace", **options)
    if done.returncode != 0:
        words = (done.stderr or done.stdout).strip().splitlines()[-12:]
        raise SystemExit("cost: " + " ".join(str(word) for word in command[:4]) + " failed:\n" + "\n".join(words))
    return done.stdout + done.stderr


def build(target, goals=()):
    """The goals, or the library, the program that runs one work of it, and for boards what a call links."""
    if not (target.folder / "CMakeCache.txt").exists():
        given = os.environ.get("FOVEA_DEPS_DIR")
        run(["cmake", "--preset", target.preset, "-B", target.folder]
            + (["-G", "Ninja"] if shutil.which("ninja") else [])
            + ([f"-DFOVEA_DEPS_DIR={given}"] if given else []), cwd=ROOT)
    for goal in goals or ["fovea_cost"] + (["fovea_linked"] if target.bare else []):
        run(["cmake", "--build", target.folder, "-j", os.cpu_count() or 1, "--target", goal], cwd=ROOT)


def compiler_name(target):
    version = run([target.compiler, "-dumpfullversion", "-dumpversion"]).split()[0]
    return Path(target.compiler).name.replace("c++", "g++") + " " + version
