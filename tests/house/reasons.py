#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Every reason of exs.h is brought about by a test of tests/explain (EXS_REASON_X), or by one of the tool that explains
("no-device"), or is excused here."""
import re
import sys

from interface import ROOT

EXCUSED = {}


def main():
    header = (ROOT / "include/exs/exs.h").read_text()
    codes = re.findall(r"\bEXS_REASON_(\w+) = \d+", header)
    tests = "\n".join(path.read_text() for path in sorted((ROOT / "tests/explain").glob("*_test.cc")))
    tool = (ROOT / "tests/tools/test_explain.py").read_text()
    shown = {code for code in codes
             if re.search(rf"\bEXS_REASON_{code}\b", tests) or f'"{code.lower().replace("_", "-")}"' in tool}
    missing = [code for code in codes if code not in shown and code not in EXCUSED]
    needless = [code for code in EXCUSED if code in shown or code not in codes]
    for code in missing:
        print(f"no test brings about EXS_REASON_{code}")
    for code in needless:
        print(f"excused for nothing: EXS_REASON_{code}")
    print(f"{len(codes)} reasons, {len(shown)} brought about")
    return 1 if missing or needless or not codes else 0


if __name__ == "__main__":
    sys.exit(main())
