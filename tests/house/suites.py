#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Each tests/**/*_test.cc is one suite named after it, which is what ctest runs of its folder's program: a case outside of it
would never run."""
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
EVENT = re.compile(r"^BOOST_(?:(?:AUTO|FIXTURE)_TEST_SUITE\((?P<suite>\w+)|(?P<end>AUTO_TEST_SUITE_END)|\w*TEST_CASE)", re.MULTILINE)


def wrongs(path):
    depth, opened = 0, []
    for event in EVENT.finditer(path.read_text()):
        if event["suite"]:
            opened += [event["suite"]] if depth == 0 else []
            depth += 1
        elif event["end"]:
            depth -= 1
        elif depth == 0:
            yield f"a case outside of a suite: {event[0]}"
    # A second one may have the cases that take minutes, which have an entry of their own.
    if opened not in ([path.stem], [path.stem, path.stem.replace("_test", "_at_length")]):
        yield f"suites {opened} in place of one, {path.stem}"


def main():
    tests = [path for path in sorted((ROOT / "tests").rglob("*_test.cc")) if "int main(" not in path.read_text()]
    found = [f"{path.relative_to(ROOT)}: {wrong}" for path in tests for wrong in wrongs(path)]
    print(*found, f"{len(tests)} files of tests, {len(found)} wrong", sep="\n")
    return 1 if found or not tests else 0


sys.exit(main())
