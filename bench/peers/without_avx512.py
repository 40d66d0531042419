"""For gdb: ONNX Runtime as on a core without AVX-512, AVX-VNNI and AMX. It has no setting for that, so each of its cpuid instructions gets the
answer of this core with those bits cleared. Nothing else is changed, and code that runs meets no breakpoint. fovea asks the core itself.

  gdb -q -batch -nx -iex "set auto-load python-scripts off" -x without_avx512.py --args python layer_peers.py PATH/TO/libfovea_shared.so --narrow
"""
import os
import re
import subprocess
import tempfile

import gdb

WATCHED = "onnxruntime_pybind11_state"
CLEARED = {  # (leaf, part): register -> bits
    (7, 0): {"ebx": (16, 17, 21, 26, 27, 28, 30, 31), "ecx": (1, 6, 11, 12, 14), "edx": (2, 3, 8, 22, 23, 24, 25)},
    (7, 1): {"eax": (4, 5, 21), "edx": (4, 5, 10, 19)},
}
ASK = r"""
#include <cpuid.h>
#include <stdio.h>
static void ask(unsigned leaf, unsigned part) {
  unsigned a, b, c, d;
  __cpuid_count(leaf, part, a, b, c, d);
  printf("%u %u %u %u %u %u\n", leaf, part, a, b, c, d);
}
int main(void) {
  for (unsigned leaf = 0; leaf < 0x20; ++leaf)
    for (unsigned part = 0; part < 8; ++part) ask(leaf, part);
  for (unsigned leaf = 0x80000000u; leaf < 0x80000020u; ++leaf)
    for (unsigned part = 0; part < 8; ++part) ask(leaf, part);
  return 0;
}
"""


def answers():
    """(leaf, part) -> eax, ebx, ecx, edx of this core, without what is to be hidden."""
    with tempfile.TemporaryDirectory() as folder:
        source, program = os.path.join(folder, "ask.c"), os.path.join(folder, "ask")
        with open(source, "w") as file:
            file.write(ASK)
        subprocess.run(["cc", source, "-o", program], check=True)
        lines = subprocess.run([program], check=True, capture_output=True, text=True).stdout.splitlines()
    found = {}
    for line in lines:
        leaf, part, *registers = map(int, line.split())
        found[leaf, part] = dict(zip(("eax", "ebx", "ecx", "edx"), registers))
    for key, registers in CLEARED.items():
        for register, bits in registers.items():
            for bit in bits:
                found[key][register] &= ~(1 << bit)
    return found


class Cpuid(gdb.Breakpoint):
    """In place of one instruction."""

    def __init__(self, address):
        super().__init__(f"*{address:#x}", internal=True)
        self.silent = True

    def stop(self):
        leaf, part = (int(gdb.parse_and_eval(f"(unsigned)${name}")) for name in ("eax", "ecx"))
        registers = known.get((leaf, part)) or known.get((leaf, 0)) or dict.fromkeys(("eax", "ebx", "ecx", "edx"), 0)
        for name, value in registers.items():
            gdb.execute(f"set $r{name[1:]} = {value}")
        gdb.execute("set $pc = $pc + 2")
        return False


def watch(path):
    """Called when the library is mapped, before its constructors run."""
    with open("/proc/%d/maps" % gdb.selected_inferior().pid) as maps:
        base = min(int(line.split("-")[0], 16) for line in maps if path in line)
    code = subprocess.run(["objdump", "-d", "--no-show-raw-insn", path], check=True, capture_output=True, text=True).stdout
    for address in re.findall(r"^ *([0-9a-f]+):\s+cpuid\s*$", code, re.M):
        Cpuid(base + int(address, 16))


def loaded(event):
    if WATCHED in event.new_objfile.filename:
        watch(event.new_objfile.filename)


known = answers()
gdb.execute("set pagination off")
gdb.execute("set breakpoint pending on")
gdb.execute("set print thread-events off")
gdb.events.new_objfile.connect(loaded)
gdb.execute("run")
