#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""What debian/ says of the tree: each installed file is in exactly one package, and packages name nothing else. The symbols of a library
are those of its map, versions agree, and packages are built with what scripts/setup names.

    debian.py PREFIX LIBDIR   of an installation, and of its libraries below it
"""
import fnmatch
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
DEBIAN = ROOT / "debian"
MAPS = {"libexs0": "src/exs.map", "libexs-rpc0": "rpc/exs-rpc.map", "libexs-service0": "service/exs-service.map",
        "libexs-sunrpc0": "rpc/exs-sunrpc.map"}
# Debian's names for what an installation by hand calls otherwise.
FOLDERS = {"share/zsh/site-functions/": "share/zsh/vendor-completions/", "lib/TRIPLET/libexs-java": "lib/TRIPLET/jni/libexs-java"}
# scripts/setup -> Build-Depends
NAMED_OTHERWISE = {"openjdk-17-jdk-headless": "default-jdk-headless"}
EVERY_BUILD_HAS = {"g++", "make"}


def files_of(prefix, libdir):
    """The installed files by the names that they have in a package."""
    for path in sorted(prefix.rglob("*")):
        if path.is_dir() and not path.is_symlink():
            continue
        name = path.relative_to(prefix).as_posix()
        for ours, theirs in {f"{libdir}/": "lib/TRIPLET/", **FOLDERS}.items():
            if name.startswith(ours):
                name = theirs + name.removeprefix(ours)
        yield f"usr/{name}"


def lists():
    """(package, pattern) of all .install files; a package None is no package's."""
    for path in sorted(DEBIAN.glob("*.install")):
        yield from ((path.stem, line) for line in path.read_text().split())
    yield from ((None, line) for line in (DEBIAN / "not-installed").read_text().split())


def fits(file, pattern):
    return any(fnmatch.fnmatchcase(part, pattern) and part.count("/") == pattern.count("/")
               for part in (file, *map(str, pathlib.PurePath(file).parents)))


def file_complaints(files):
    unused = list(lists())
    for file in files:
        owners = {package for package, pattern in lists() if fits(file, pattern)}
        if None in owners:
            continue  # it comes to no package, whatever folder it is in
        if len(owners) != 1:
            yield f"{file} is in {', '.join(sorted(owners)) or 'no package'}"
    for package, pattern in unused:
        if not any(fits(file, pattern) for file in files):
            yield f"{package}: {pattern} is not installed"


def symbol_complaints():
    for package, path in MAPS.items():
        text = re.sub(r"#.*", "", (ROOT / path).read_text())
        node = re.match(r"\s*(\w[\w.]*)?\s*\{", text)[1] or "Base"
        named = {f"{name}@{node}" for name in re.findall(r"(\w+);", text[text.index("global:"):text.index("local:")])}
        named |= set() if node == "Base" else {f"{node}@{node}"}
        listed = {line.split()[0] for line in (DEBIAN / f"{package}.symbols").read_text().splitlines() if line.startswith(" ")}
        yield from (f"{package}.symbols: {name} is in only one of it and {path}" for name in sorted(named ^ listed))


def control_complaints():
    control = (DEBIAN / "control").read_text()
    packages = set(re.findall(r"^Package: (\S+)$", control, re.MULTILINE))
    yield from (f"there is no package {path.stem} for {path.name}" for path in DEBIAN.glob("*.install") if path.stem not in packages)
    version = re.search(r"^project\(exs VERSION (\S+)", (ROOT / "CMakeLists.txt").read_text(), re.MULTILINE)[1]
    changelog = re.match(r"exs \((.+)-[\d.]+\) ", (DEBIAN / "changelog").read_text())
    if not changelog or changelog[1] != version:
        yield f"debian/changelog does not begin with version {version}"
    if f"\nversion: {version}\n" not in (ROOT / "CITATION.cff").read_text():
        yield f"CITATION.cff does not have version {version}"
    said = subprocess.run([ROOT / "scripts/setup", "--list", "build", "layers", "java"], capture_output=True, text=True, check=True).stdout
    needed = {NAMED_OTHERWISE.get(name, name) for name in re.findall(r"^  \w+ +(\S+) ", said, re.MULTILINE)} - EVERY_BUILD_HAS
    depends = re.search(r"^Build-Depends: ((?:.|\n )+)", control, re.MULTILINE)[1]
    yield from (f"Build-Depends lacks {name}" for name in sorted(needed - set(re.findall(r"[\w.+-]+(?=,|$| \()", depends))))


def main():
    files = list(files_of(pathlib.Path(sys.argv[1]), sys.argv[2]))
    found = [*file_complaints(files), *symbol_complaints(), *control_complaints()]
    print(*found, f"{len(files)} files, {len(found)} complaints", sep="\n")
    return 1 if found or not files else 0


sys.exit(main())
