"""Instructions that one work takes, in all and by function: exact, and the same on every run."""
import shutil
import subprocess
from pathlib import Path

from targets import HERE, run


def obstacle(target):
    """Empty, or why instructions cannot be counted here."""
    tool = {"qemu": "qemu-aarch64", "callgrind": "valgrind", "": ""}[target.counter]
    if not tool:
        return "valgrind does not run this ISA"
    return "" if shutil.which(tool) else f"{tool} is not installed"


def works_of(target):
    """Name and multiply-adds of each work."""
    emulator = ["qemu-aarch64"] if target.counter == "qemu" else []
    lines = run([*emulator, target.program, "--list"]).splitlines()
    return {name: int(macs) for name, macs in (line.split("\t") for line in lines)}


def functions_of(target, work, folder):
    """Instructions by function, as a dictionary of symbols."""
    return (_by_qemu if target.counter == "qemu" else _by_callgrind)(target, work, Path(folder))


def plugin(folder):
    """Builds QEMU's plugin for the number of the interface that the emulator here wants; 7.2 wants 1."""
    path = Path(folder) / "count_instructions.so"
    for version in range(1, 8):
        if path.exists():
            break
        run([shutil.which("cc") or "gcc", "-O2", "-fPIC", "-shared", f"-DPLUGIN_VERSION={version}", HERE / "count_instructions.c", "-o", path])
        if subprocess.run(["qemu-aarch64", "-plugin", str(path), "/nowhere"], capture_output=True, text=True).stderr.find("version") >= 0:
            path.unlink()
    return path


def _by_qemu(target, work, folder):
    printed = run(["qemu-aarch64", "-plugin", plugin(folder), "-d", "plugin", target.program, work, target.isa])
    found = {}
    for line in printed.splitlines():
        if line.startswith("counted "):
            _, count, symbol = line.split(" ", 2)
            found[symbol] = int(count)
    return found


def _by_callgrind(target, work, folder):
    out = folder / "callgrind.out"
    run(["valgrind", "--tool=callgrind", "--demangle=no", "--compress-strings=no", "--compress-pos=no", "--toggle-collect=fovea_cost_region",
         f"--callgrind-out-file={out}", target.program, work, target.isa])
    return _self_costs(out.read_text().splitlines())


def _self_costs(lines):
    """Of callgrind's file: "fn=" opens a function, "LINE COST" adds to it; the line behind "calls=" is the cost of the called one."""
    found, function, called = {}, "?", False
    for line in lines:
        if line.startswith("fn="):
            function = line[3:]
        elif line.startswith("calls="):
            called = True
        elif line[:1].isdigit() or line[:2] == "0x":
            if not called:
                found[function] = found.get(function, 0) + int(line.split()[1])
            called = False
    return {symbol: count for symbol, count in found.items() if count > 0 and not symbol.startswith("fovea_cost_")}
