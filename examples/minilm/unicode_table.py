#!/usr/bin/env python3
"""unicode_table.py > unicode_table.inc: what BERT's uncased normalisation makes of each code point.

The reference, the package `tokenizers`, mixes three versions of Unicode: categories (controls, marks,
punctuation) of 8.0, decompositions of 9.0 to 12.1, lower case of 17.0. This script starts from Unicode
14.0, which Python 3.11 and the package unicodedata2 14.0.0 have, and corrects what differs.
tools/check/tokenizer compares the result with the reference for every code point.
"""
import sys
import unicodedata

if unicodedata.unidata_version != "14.0.0":
    try:
        import unicodedata2 as unicodedata
    except ImportError:
        pass
if unicodedata.unidata_version != "14.0.0":
    sys.exit("unicode_table.py: this Python has Unicode %s, and 14.0.0 is needed: take Python 3.11, or "
             "pip install unicodedata2==14.0.0." % unicodedata.unidata_version)


def codes(text):
    """'7FD 898-89F' as a set of numbers."""
    found = set()
    for word in text.split():
        first, _, last = word.partition("-")
        found.update(range(int(first, 16), int(last or first, 16) + 1))
    return found


# Newer than Unicode 8.0, or of another category there.
NEWER_CONTROLS = codes("890-891 8E2 110CD 13430-13438")
NEWER_MARKS = codes(
    "7FD 898-89F 8CA-8E1 9FE AFA-AFF B55 C04 C3C D00 D3B-D3C D81 EBA 180F 1885-1886 "
    "1ABF-1ACE 1DF6-1DFB A82C A8C5 A8FF A9BD 10D24-10D27 10EAB-10EAC 10F46-10F50 "
    "10F82-10F85 11070 11073-11074 110C2 111C9 111CF 1123E 1133B 11438-1143F 11442-11444 "
    "11446 1145E 1182F-11837 11839-1183A 1193B-1193C 1193E 11943 119D4-119D7 119DA-119DB "
    "119E0 11A01-11A0A 11A33-11A38 11A3B-11A3E 11A47 11A51-11A56 11A59-11A5B 11A8A-11A96 "
    "11A98-11A99 11C30-11C36 11C38-11C3D 11C3F 11C92-11CA7 11CAA-11CB0 11CB2-11CB3 "
    "11CB5-11CB6 11D31-11D36 11D3A 11D3C-11D3D 11D3F-11D45 11D47 11D90-11D91 11D95 11D97 "
    "11EF3-11EF4 16F4F 16FE4 1CF00-1CF2D 1CF30-1CF46 1E000-1E006 1E008-1E018 1E01B-1E021 "
    "1E023-1E024 1E026-1E02A 1E130-1E136 1E2AE 1E2EC-1E2EF 1E944-1E94A")
NEWER_PUNCTUATION = codes(
    "61D 9FD A76 C77 C84 1B7D-1B7E 2E43-2E4F 2E52-2E5D 10EAD 10F55-10F59 10F86-10F89 "
    "1144B-1144F 1145A-1145B 1145D 11660-1166C 116B9 1183B 11944-11946 119E2 11A3F-11A46 "
    "11A9A-11A9C 11A9E-11AA2 11C41-11C45 11C70-11C71 11EF7-11EF8 11FFF 12FF1-12FF2 "
    "16E97-16E9A 16FE2 1E95E-1E95F")
FORMER_MARKS = codes("1734")
FORMER_PUNCTUATION = codes("166D 111C9")
NEWER_DECOMPOSITIONS = codes("11938")
# Newer than Unicode 14.0: capital and small letter.
NEWER_LETTERS = {0x1C89: 0x1C8A, 0xA7CB: 0x264, 0xA7CC: 0xA7CD, 0xA7CE: 0xA7CF, 0xA7D2: 0xA7D3,
                 0xA7D4: 0xA7D5, 0xA7DA: 0xA7DB, 0xA7DC: 0x19B,
                 **{code: code + 0x20 for code in range(0x10D50, 0x10D66)},
                 **{code: code + 0x1B for code in range(0x16EA0, 0x16EB9)}}

CJK = codes("3400-4DBF 4E00-9FFF F900-FAFF 20000-2A6DF 2A700-2B73F 2B740-2B81F 2B920-2CEAF 2F800-2FA1F")
ASCII_PUNCTUATION = codes("21-2F 3A-40 5B-60 7B-7E")
HANGUL = range(0xAC00, 0xD7A4)  # decomposed by a formula
BLANKS = codes("9 A D 20 A0 1680 2000-200A 2028 2029 202F 205F 3000")


def is_control(code):
    if code in (0x9, 0xA, 0xD):
        return False
    other = unicodedata.category(chr(code)) in ("Cc", "Cf", "Co", "Cs") and code not in NEWER_CONTROLS
    return other or code in (0, 0xFFFD)


def is_mark(code):
    return (unicodedata.category(chr(code)) == "Mn" or code in FORMER_MARKS) and code not in NEWER_MARKS


def is_punctuation(code):
    listed = unicodedata.category(chr(code))[0] == "P" and code not in NEWER_PUNCTUATION
    return listed or code in ASCII_PUNCTUATION or code in FORMER_PUNCTUATION


def lower(code):
    return chr(NEWER_LETTERS[code]) if code in NEWER_LETTERS else chr(code).lower()


def normal(code):
    """The code points that stand for one, without what is removed."""
    text = chr(code) if code in NEWER_DECOMPOSITIONS else unicodedata.normalize("NFD", chr(code))
    return [ord(c) for part in text if not is_mark(ord(part)) for c in lower(ord(part))]


def ranges(wanted):
    """Sorted numbers as [first, last]."""
    found = []
    for code in sorted(wanted):
        if found and found[-1][1] == code - 1:
            found[-1][1] = code
        else:
            found.append([code, code])
    return found


def print_list(declaration, items):
    print("%s = {" % declaration)
    line = "   "
    for item in items:
        if len(line) + len(item) > 106:
            print(line)
            line = "   "
        line += " " + item + ","
    print(line.rstrip(","))
    print("};")


def print_ranges(name, wanted):
    print_list("constexpr code_range %s[]" % name, ["{0x%X, 0x%X}" % tuple(one) for one in ranges(wanted)])


def runs(single):
    """(code, letter) pairs as [first, count, step of both, letter of the first]."""
    found = []
    for code, letter in single:
        if found:
            first, count, step, to = found[-1]
            gap = code - first if count == 1 else step
            if gap in (1, 2) and code == first + count * gap and letter == to + count * gap:
                found[-1] = [first, count + 1, gap, to]
                continue
        found.append([code, 1, 1, letter])
    return found


def main():
    everything = [c for c in range(0x110000) if not 0xD800 <= c < 0xE000]
    # Unassigned code points stay as they are, and surrogates do not come out of UTF-8.
    controls = {c for c in everything if is_control(c)}
    kept = [c for c in everything if c not in controls and c not in BLANKS and c not in HANGUL]
    forms = {c: normal(c) for c in kept}
    removed = controls | {c for c in kept if not forms[c]}
    single = [(c, forms[c][0]) for c in kept if len(forms[c]) == 1 and forms[c] != [c]]
    several = [(c, forms[c]) for c in kept if len(forms[c]) > 1]
    print("// Made by unicode_table.py. Do not edit.\n")
    print("// Controls, format characters, private use, marks without width.")
    print_ranges("removed_ranges", removed)
    print("\n// They end a word and are left out.")
    print_ranges("blank_ranges", BLANKS)
    print("\n// Words of their own: ideographs, and punctuation as it is after normalisation.")
    print_ranges("cjk_ranges", CJK)
    print_ranges("punctuation_ranges", {c for c in everything if is_punctuation(c)})
    print("\n// Small letters without accents: first, count, step, what the first becomes.")
    print_list("constexpr letter_run letter_runs[]", ["{0x%X, %d, %d, 0x%X}" % tuple(one) for one in runs(single)])
    print("\n// What becomes more than one code point.")
    print_list("constexpr letter_group letter_groups[]",
               ["{0x%X, {%s}}" % (c, ", ".join("0x%X" % x for x in form)) for c, form in several])


main()
