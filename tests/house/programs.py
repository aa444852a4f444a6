#!/usr/bin/env python3
"""Programs printed in README.md and exs(7) compile without a warning and run.

    programs.py COMPILER LIBRARY-FOLDER
"""
import pathlib
import re
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
RUN_LIMIT_S = 60


def unescape_roff(text):
    return text.replace("\\-", "-").replace("\\e", "\\").replace("\\(aq", "'").replace("\\&", "")


def programs():
    """(where, source text, what it must print or None)"""
    readme = (ROOT / "README.md").read_text()
    for match in re.finditer(r"```c\n(.*?)```(?:\n+It prints:?\n+```\n(.*?)```)?", readme, flags=re.DOTALL):
        if "int main(" in match[1]:
            yield "README.md", match[1], match[2]
    page = (ROOT / "man/exs.7").read_text()
    for match in re.finditer(r'^\.\\" BEGIN PROGRAM\n\.EX\n(.*?)^\.EE\n', page, flags=re.DOTALL | re.MULTILINE):
        yield "exs.7", unescape_roff(match[1]), None


def run(what, command):
    done = subprocess.run(command, capture_output=True, text=True, timeout=RUN_LIMIT_S, check=False)
    if done.returncode != 0:
        raise SystemExit(f"{what}: {' '.join(command)}: exit {done.returncode}\n{done.stdout}{done.stderr}")
    return done.stdout


def main():
    compiler, library_folder = sys.argv[1:]
    found = list(programs())
    missing = {"README.md", "exs.7"} - {where for where, _, _ in found}
    if missing:
        raise SystemExit(f"no program in {', '.join(sorted(missing))}")
    with tempfile.TemporaryDirectory() as folder:
        for number, (where, source, promised) in enumerate(found):
            path = pathlib.Path(folder, f"program-{number}.c")
            path.write_text(source)
            binary = str(path.with_suffix(""))
            run(where, [compiler, "-std=c11", "-D_DEFAULT_SOURCE", "-Wall", "-Wextra", "-Werror", f"-I{ROOT}/include",
                        str(path), "-o", binary, f"-L{library_folder}", "-lexs", f"-Wl,-rpath,{library_folder}"])
            printed = run(where, [binary])
            print(f"{where}: {len(source.splitlines())} lines, printed {printed!r}")
            if promised is not None and printed != promised:
                raise SystemExit(f"{where} promises {promised!r}")


if __name__ == "__main__":
    main()
