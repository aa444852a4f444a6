#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""A comment behind code is behind all of its statement. Where the two are too long for a line, clang-format breaks the statement and leaves
the comment behind its last part (`= \\n 2;  // why`): the comment belongs above."""
import pathlib
import re
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parent))
from rooms import sources  # noqa: E402

ROOT = pathlib.Path(__file__).resolve().parents[2]

# How a line ends that begins a value, and what follows up to its end.
PARTS = ((re.compile(r"(?:[^=!<>]=|==)$"), re.compile(r"^\s*[^;/]+;\s+//")), (re.compile(r"\{$"), re.compile(r"^\s*[^;{}/]+\};\s+//")))


def broken_lines(text):
    lines = text.split("\n")
    for number, (line, following) in enumerate(zip(lines, lines[1:]), 1):
        if "//" not in line and any(begins.search(line.rstrip()) and ends.match(following) for begins, ends in PARTS):
            yield number


EXAMPLES = (
    ("int x =\n    2;  // why", True), ("std::atomic<int> x{\n    0};  // why", True), ("bool f() {\n  return 1;  // why", False),
    ("int x = 2;  // why", False), ("int x =\n    2;", False), ("// a =\nint x;  // why", False), ("enum A {\n  kOne,  // why\n};", False),
    ("struct A {\n  int b{};  // why", False),
    ("T(T&&) =\n    default;  // why", True), ("BOOST_TEST(one ==\n           two);  // why", True),
)


def main():
    found = [f"the check is wrong about: {text!r}" for text, is_broken in EXAMPLES if any(broken_lines(text)) != is_broken]
    names = sources()
    for name in names:
        found += [f"{name}:{number}: put the comment of the next line above the statement"
                  for number in broken_lines((ROOT / name).read_text())]
    print(*found, f"{len(names)} files, {len(found)} complaints", sep="\n")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
