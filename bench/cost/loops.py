"""The hot loops of a kernel, cut out of the compiled object, and what llvm-mca says of them."""
import re
import shutil

from targets import run

OBJDUMP, MCA = "llvm-objdump-19", "llvm-mca-19"
FMA = re.compile(r"^(fmla|vfn?madd)")

# Functions that hold a hot loop, by their mangled names.
HOT = [
    (re.compile(r"12score_groupsI.*5shapeILi(\d+)ELi(\d+)"), "scores {}x{}"),
    (re.compile(r"12value_groupsI.*5shapeILi(\d+)ELi(\d+)"), "values {}x{}"),
    (re.compile(r"5weighI.*Lb0E"), "weights"),
]


def obstacle():
    missing = [tool for tool in (OBJDUMP, MCA) if not shutil.which(tool)]
    return " and ".join(missing) + " of LLVM 19 not installed" if missing else ""


def hot_loops(object_file):
    """name -> lines of assembly: of the functions of one name the innermost loop that is most densely fma, ragged ends left aside."""
    found = {}
    for symbol, code in _functions(object_file):
        for pattern, name in HOT:
            match = pattern.search(symbol)
            if match:
                loops = [loop for loop in _innermost_loops(code) if fma_count(loop) > 4]
                found.setdefault(name.format(*match.groups()), []).extend(loops)
    return {name: min(loops, key=lambda loop: len(loop) / fma_count(loop)) for name, loops in found.items() if loops}


def fma_count(loop):
    return sum(1 for line in loop if FMA.match(line))


def _functions(object_file):
    symbol, code = None, []
    for line in run([OBJDUMP, "-d", "--no-show-raw-insn", object_file]).splitlines():
        header = re.match(r"^[0-9a-f]+ <(.*)>:$", line)
        instruction = re.match(r"^\s*([0-9a-f]+):\s+(.*)$", line)
        if header:
            if symbol:
                yield symbol, code
            symbol, code = header.group(1), []
        elif instruction:
            code.append((int(instruction.group(1), 16), re.sub(r"\s+", " ", instruction.group(2).strip())))
    if symbol:
        yield symbol, code


def _innermost_loops(code):
    """From the target of a backward branch to the branch, where no other such pair lies inside."""
    ends = []
    for at, text in code:
        branch = re.match(r"(?:b\.?\w*|cbn?z|tbn?z|j\w+) .*?(?:0x)([0-9a-f]+) <", text)
        if branch and int(branch.group(1), 16) < at:
            ends.append((int(branch.group(1), 16), at))
    for first, last in ends:
        if not any(first <= f and l <= last and (f, l) != (first, last) for f, l in ends):
            yield [_plain(text) for at, text in code if first <= at <= last]


def _plain(text):
    """An instruction as an assembler takes it: no comment, and one label for every branch target."""
    return re.sub(r"0x[0-9a-f]+ <.*>", ".Lhot", re.sub(r"\s+(#|//) .*$", "", text))


def cycles(loop, target, core):
    """Per turn of the loop, when it goes on for long."""
    turns = 200
    printed = run([MCA, f"-mtriple={target.triple}", f"-mcpu={core}", f"-iterations={turns}", "-instruction-info=0",
                   "-resource-pressure=0"], input=".Lhot:\n" + "\n".join(loop) + "\n")
    return int(re.search(r"^Total Cycles:\s+(\d+)", printed, re.M).group(1)) / turns
