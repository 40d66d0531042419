"""Instructions that one work takes, in all and by function: exact, and the same on every run."""
import re
import shutil
import subprocess
from pathlib import Path

from targets import HERE, call, run


def obstacle(target):
    """Empty, or why instructions cannot be counted here."""
    if not target.counter:
        return "valgrind does not run this ISA"
    tool = target.emulator[0] if target.counter == "qemu" else "valgrind"
    return "" if shutil.which(tool) else f"{tool} is not installed"


def works_of(target):
    """Name, ISA and multiply-adds of each work; a work of integers once for each of the target's integer ISAs."""
    found = []
    for line in run(call(target, ["--list"])).splitlines():
        name, macs, dtype, where = line.split("\t")
        if where == ("boards" if target.bare else "hosted"):
            isas = target.integer_isas if dtype == "int8" else [target.isa] if target.isa else []
            found += [(name, isa, int(macs)) for isa in isas]
    return found


def functions_of(target, work, isa, folder):
    """Instructions by function, as a dictionary of symbols, and the bytes of stack."""
    found, printed = (_by_qemu if target.counter == "qemu" else _by_callgrind)(target, work, isa, Path(folder))
    return found, int(re.search(r"^stack (\d+)", printed, re.M).group(1))


def plugin(target, folder):
    """Builds QEMU's plugin for the number of the interface that the emulator here wants; 7.2 wants 1."""
    path = Path(folder) / "count_instructions.so"
    for version in range(1, 8):
        if path.exists():
            break
        run([shutil.which("cc") or "gcc", "-O2", "-fPIC", "-shared", f"-DPLUGIN_VERSION={version}", HERE / "count_instructions.c", "-o", path])
        if subprocess.run([target.emulator[0], "-plugin", str(path), "/nowhere"], capture_output=True, text=True).stderr.find("version") >= 0:
            path.unlink()
    return path


def _by_qemu(target, work, isa, folder):
    printed = run(call(target, [work, isa], ["-plugin", plugin(target, folder), "-d", "plugin"]))
    counted = re.findall(r"^counted (\d+) (.*)$", printed.replace("\r", ""), re.M)
    return {symbol: int(count) for count, symbol in counted}, printed


def _by_callgrind(target, work, isa, folder):
    out = folder / "callgrind.out"
    printed = run(["valgrind", "--tool=callgrind", "--demangle=no", "--compress-strings=no", "--compress-pos=no",
                   "--toggle-collect=fovea_cost_region", f"--callgrind-out-file={out}", target.program, work, isa])
    return _self_costs(out.read_text().splitlines()), printed


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
