"""What each package holds: the files of its folder here, the library in one of three shapes, README.md and
LICENSE.

In the files of a folder, @VERSION@ and its kin (see `words`) are replaced. Nothing of the library is kept
here.
"""

import os
import pathlib
import re

import amalgam
from sources import ROOT, Refusal, forgotten, library, license_text, listed, public_headers, version

TWO_FILES, TREE, PROJECT = "two files", "tree", "project"

# name: (shape of the library, where it stands in the package, its manifests: what names the version)
PACKAGES = {
    "amalgam": (TWO_FILES, "", ["fovea.h", "fovea.cpp"]),
    "arduino": (TWO_FILES, "src/", ["library.properties"]),
    "platformio": (TWO_FILES, "src/", ["library.json"]),
    "esp-idf": (TWO_FILES, "src/", ["idf_component.yml"]),
    "cmsis": (TWO_FILES, "src/", ["fovea.fovea.pdsc"]),
    "zephyr": (TREE, "", ["zephyr/Kconfig"]),
    "pico": (PROJECT, "fovea/", ["CMakeLists.txt"]),
    "conan": (PROJECT, "", ["conanfile.py"]),
    "vcpkg": (PROJECT, "source/", ["ports/fovea/vcpkg.json"]),
    "source": (PROJECT, "", []),
}

# What CMake needs to build and install the library, besides the files that a compiler reads.
OF_CMAKE = [
    "CMakeLists.txt",
    "lib/CMakeLists.txt",
    "lib/sources.txt",
    "CHANGELOG.md",
    "docs/integration.md",
    "docs/versions.md",
    "tools/cmake/isas.cmake",
    "tools/cmake/dependencies.cmake",
    "tools/cmake/fetch.cmake",
    "tools/cmake/fovea-config.cmake.in",
    "tools/cmake/fovea.pc.in",
]
HERE = pathlib.Path(__file__).resolve().parent


def words(root):
    sources = [p for p in listed(root)]
    return {
        "VERSION": version(root),
        "DESCRIPTION": "Attention and small transformer layers on microcontrollers, in floats and in integers",
        "REPOSITORY": os.environ.get("FOVEA_REPOSITORY", "https://example.org/fovea"),
        "SOURCES": "\n".join("  ${FOVEA}/" + p for p in sources),
        "HEADERS": " ".join(os.path.basename(p) for p in public_headers(root)),
        "EXAMPLE": (root / "tools/package/example.inc").read_text(encoding="utf-8"),
        "LICENSE_LINES": "".join(
            f" {line}\n" if line.strip() else " .\n" for line in license_text(root).splitlines()
        ),
    }


def filled(text, known, where):
    def of(match):
        if match.group(1) not in known:
            raise Refusal(f"{where} wants @{match.group(1)}@, which nobody knows")
        return known[match.group(1)]

    return re.sub(r"@([A-Z_]+)@", of, text)


def own_files(name, root):
    """{path in the package: text} of the folder of a package."""
    folder = root / "tools/package" / name
    known = words(root)
    answer = {}
    for path in sorted(p for p in folder.rglob("*") if p.is_file() and "__pycache__" not in p.parts):
        inside = str(path.relative_to(folder))
        answer[inside] = filled(path.read_text(encoding="utf-8"), known, f"tools/package/{name}/{inside}")
    return answer


def contents(name, root=ROOT):
    """{path in the package: text}."""
    shape, place, _ = PACKAGES[name]
    answer = {}
    if shape == TWO_FILES:
        answer[place + "fovea.h"] = amalgam.header(root)
        answer[place + "fovea.cpp"] = amalgam.Amalgam(root).source()
    else:
        paths = library(root) + (["LICENSE"] + OF_CMAKE if shape == PROJECT else [])
        for path in paths:
            if not (root / path).is_file():
                raise Refusal(f"there is no {path}, which the package {name} holds")
            answer[place + path] = (root / path).read_text(encoding="utf-8")
    answer.update(own_files(name, root))
    answer["LICENSE"] = license_text(root)
    return answer


def write(name, folder, root=ROOT):
    for path, text in contents(name, root).items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(text, encoding="utf-8")


def faults(name, folder, root=ROOT):
    """What is wrong with a package that stands in a folder; sentences."""
    shape, _, manifests = PACKAGES[name]
    wrong = []
    for path, text in contents(name, root).items():
        if not (folder / path).is_file():
            wrong.append(f"{name} lacks {path}")
        elif (folder / path).read_text(encoding="utf-8") != text:
            wrong.append(f"{path} of {name} differs from the tree")
    for path in manifests:
        if (folder / path).is_file() and not names_version(
            (folder / path).read_text(encoding="utf-8"), version(root)
        ):
            wrong.append(f"{path} of {name} does not name version {version(root)}")
    if "README.md" not in contents(name, root):
        wrong.append(f"{name} has no README.md")
    return wrong


def names_version(text, wanted):
    return re.search(rf"(?<![\d.]){re.escape(wanted)}(?![\d.]\d)", text) is not None


def faults_of_tree(root=ROOT):
    """What is wrong before any package is written."""
    wrong = []
    for path in forgotten(root):
        why = (
            "lib/sources.txt does not list it"
            if path.endswith(".cpp")
            else "no source of lib/sources.txt includes it"
        )
        wrong.append(f"{path} is in no package: {why}")
    license_text(root)
    newest = re.search(r"^## \[([\d.]+)\]", (root / "CHANGELOG.md").read_text(encoding="utf-8"), re.M)
    if not newest or newest.group(1) != version(root):
        wrong.append(
            f"include/fovea/fovea.h says version {version(root)}, CHANGELOG.md {newest.group(1) if newest else 'none'}"
        )
    for name, (_, _, manifests) in PACKAGES.items():
        for path in manifests:
            template = root / "tools/package" / name / path
            if template.is_file() and "@VERSION@" not in template.read_text(encoding="utf-8"):
                wrong.append(f"tools/package/{name}/{path} must name the version as @VERSION@")
    return wrong
