#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""No static of a function in the library is made on first use: a child of fork would wait for ever for the guard that another
thread held. Lazy (base/lazy.h) has none. Guards of thread_local objects are the thread's own, and never held by another.
guards.py LIBRARY COMPILER"""
import pathlib
import re
import subprocess
import sys
import tempfile

STATIC = "struct T { T(); int i; }; int f() { static T made; return made.i; }\n"
THREAD_LOCAL = STATIC.replace("static", "thread_local")


def guards(file):
    """Names of the guards of objects that the whole process shares."""
    symbols = subprocess.run(["readelf", "--symbols", "--wide", "--demangle", file], check=True, capture_output=True, text=True)
    lines = [line for line in symbols.stdout.splitlines() if "guard variable for" in line and " TLS " not in line]
    return sorted({re.sub(r".*guard variable for ", "", line) for line in lines}), len(symbols.stdout.splitlines())


def found_in(source, compiler):
    with tempfile.TemporaryDirectory() as place:
        file = pathlib.Path(place) / "made.cc"
        file.write_text(source)
        subprocess.run([compiler, "-c", file, "-o", file.with_suffix(".o")], check=True)
        return guards(file.with_suffix(".o"))[0]


def main():
    library, compiler = sys.argv[1:]
    # The check itself: it sees a guard, and tells a thread's from one of the process.
    if found_in(STATIC, compiler) != ["f()::made"] or found_in(THREAD_LOCAL, compiler):
        print("guards.py does not tell guards apart")
        return 1
    found, symbols = guards(library)
    for name in found:
        print(f"{name} is made on first use, under a lock that a child of fork inherits: use Lazy (base/lazy.h)")
    # Without local symbols, in a stripped library, nothing would ever be found.
    stripped = symbols < 2000
    if stripped:
        print(f"{library} has {symbols} symbols only: its local ones are gone")
    return 1 if found or stripped else 0


if __name__ == "__main__":
    sys.exit(main())
