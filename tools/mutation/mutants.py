"""Which changes a source allows: each mutant is one small change of one line, made in the text."""
import hashlib
import re
from dataclasses import dataclass

# clang-format puts spaces around binary operators only, so that neither pointers nor templates are taken for them.
OPERATORS = {
    "<": "<=", "<=": "<", ">": ">=", ">=": ">", "==": "!=", "!=": "==", "&&": "||", "||": "&&", "+": "-", "-": "+", "*": "+", "/": "*",
    "%": "/", "&": "|", "|": "&", "^": "|", "<<": ">>", ">>": "<<", "+=": "-=", "-=": "+=", "*=": "+=", "|=": "&=", "&=": "|=",
    "<<=": ">>=", ">>=": "<<=",
}
WORDS = {"true": "false", "false": "true", "smaller": "larger", "larger": "smaller"}

OPERATOR = re.compile(r"(?<= )(<<=|>>=|[=!<>+*|&-]=|&&|\|\||<<|>>|[-<>+*/%&|^])(?=[ \n])")
STEP = re.compile(r"\+\+|--")
NOT = re.compile(r"!(?=[\w(])")
WORD = re.compile(r"\b(?:" + "|".join(WORDS) + r")\b(?=[^\w]|$)")
NUMBER = re.compile(r"(?<![\w.])(0x[0-9a-fA-F]+|\d+)([uUlL]*)(?![\w.'])")
STATEMENT = re.compile(r"^[ ]*((?:if|for|while) \(.*|(?:\+\+|--|\*)?[A-Za-z_][\w.:>\[\]()+* -]*(?: [-+*|&]?= .*|\(.*\)|\+\+|--));[ ]*$")
NO_STATEMENT = re.compile(r"^[ ]*(?:return|const|constexpr|static|using|auto|typedef|template|namespace|friend|extern|alignas|else|case)\b"
                          r"|^[ ]*[\w:<>]+[ *&]+\w+(?: =|;|\{)")
NOT_CODE = re.compile(r'//[^\n]*|/\*.*?\*/|"(?:[^"\\\n]|\\.)*"|^[ ]*#[^\n]*(?:\\\n[^\n]*)*|\bstatic_assert\b[^;]*;|\btemplate <[^\n]*'
                      r"|[^\n]*\b(?:__builtin_)?prefetch\([^\n]*|__attribute__\(\([^)]*\)*\)\)|\balignas\(\d+\)", re.S | re.M)


@dataclass(frozen=True)
class Mutant:
    file: str
    begin: int  # in the text of the file
    end: int
    put: str
    number: int  # of the line
    before: str  # the line without indent
    after: str
    nth: int  # among equal changes of equal lines of this file

    @property
    def key(self):  # says nothing of line numbers: edits elsewhere in a file change no key
        return "\t".join((self.file, self.before, self.after, str(self.nth)))

    def order(self, seed):
        return hashlib.sha256(f"{seed}\t{self.key}".encode()).digest()

    def applied_to(self, text):
        return text[: self.begin] + self.put + text[self.end :]


def numbers_beside(match):
    text, suffix = match.groups()
    value = int(text, 0)
    form = hex if text.startswith("0x") else str
    return [form(near) + suffix for near in (value + 1, value - 1) if near >= 0]


def changes_of(code):
    """(begin, end, replacement) in a text whose comments and strings are blank."""
    for m in OPERATOR.finditer(code):
        yield m.start(), m.end(), OPERATORS[m.group()]
    for m in STEP.finditer(code):
        yield m.start(), m.end(), {"++": "--", "--": "++"}[m.group()]
    for m in NOT.finditer(code):
        yield m.start(), m.end(), ""
    for m in WORD.finditer(code):
        yield m.start(), m.end(), WORDS[m.group()]
    for m in NUMBER.finditer(code):
        for number in numbers_beside(m):
            yield m.start(), m.end(), number
    at = 0
    for line in code.splitlines(keepends=True):
        if STATEMENT.match(line) and not NO_STATEMENT.match(line) and line.count("(") == line.count(")"):
            yield at + len(line) - len(line.lstrip()), at + line.rindex(";"), ""
        at += len(line)


def mutants_of(file, text):
    """What is prefetched changes no result: such statements are left out."""
    code = NOT_CODE.sub(lambda m: re.sub(r"[^\n]", " ", m.group()), text)
    seen = {}
    for begin, end, put in sorted(set(changes_of(code))):
        from_, to = text.rfind("\n", 0, begin) + 1, text.find("\n", end)
        before, after = text[from_:to].strip(), (text[from_:begin] + put + text[end:to]).strip()
        nth = seen[before, after] = seen.get((before, after), -1) + 1
        yield Mutant(file, begin, end, put, text.count("\n", 0, begin) + 1, before, after, nth)
