#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Every path that a document, a manual page or a comment names exists in the tree.

A path begins with a folder of the root, may leave out the extension of a source (base/fifo), and may have parts that
stand for any (tools/NAME/*.cc); or it is a link of a document, and relative to that document's folder.
"""
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
NOT_OURS = {".git", ".cache", "build", "__pycache__"}
FILES = [path.relative_to(ROOT) for path in sorted(ROOT.rglob("*"))
         if path.is_file() and not NOT_OURS.intersection(path.relative_to(ROOT).parts)]
FOLDERS = {path for file in FILES for path in file.parents}
KNOWN = {str(path) for path in FOLDERS.union(FILES)} | {str(file.with_suffix("")) for file in FILES}
TOP = "|".join(sorted(str(folder) for folder in FOLDERS if folder.parent == pathlib.Path(".") and folder.name))

NAMED = re.compile(rf"(?<![\w/.$*}}<>~-])((?:{TOP})/[\w./{{}},*-]*\w|(?:{TOP})/[\w/-]+(?=/))")
LINK = re.compile(r"\]\((?!https?:|#|mailto:)([^)#\s]+)")
COMMENT = {".md": r".*", ".cc": r"//.*|/\*.*|^ \*.*", ".txt": r"#.*", ".py": r"#.*", "": r"#.*"}
MANUAL = re.compile(r"^\.[1-8]$")


def text_of(file):
    """The lines of prose in a file: all of a document's, the comments of the rest."""
    suffix = {".h": ".cc", ".hpp": ".cc", ".c": ".cc", ".cmake": ".txt"}.get(file.suffix, file.suffix)
    prose = r".*" if MANUAL.match(suffix) else COMMENT.get(suffix)
    for number, line in enumerate((ROOT / file).read_text(errors="replace").splitlines() if prose else [], 1):
        found = re.search(prose, line)
        if found:
            yield number, found[0]


def alternatives(path):
    """src/{base,wire}/x is two paths."""
    found = re.search(r"\{([^{}]*)\}", path)
    if not found:
        return [path]
    return [other for word in found[1].split(",") for other in alternatives(path[: found.start()] + word + path[found.end() :])]


def exists(path):
    pattern = re.sub(r"\b[A-Z]{2,}\b(?!\.md)", "*", path)
    return path.rstrip("/.") in KNOWN or ("*" in pattern and any(ROOT.glob(pattern)))


def main():
    found = []
    for file in FILES:
        for number, line in text_of(file):
            named = [path for match in NAMED.findall(line) for path in alternatives(match) if not exists(path)]
            if file.suffix == ".md":
                named += [link for link in LINK.findall(line) if not (ROOT / file.parent / link).exists()]
            found += [f"{file}:{number}: there is no {path}" for path in named]
    print(*found, f"{len(FILES)} files, {len(found)} names of what is not there", sep="\n")
    return 1 if found or not FILES else 0


sys.exit(main())
