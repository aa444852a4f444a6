#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Every manual page in section 3 has an EXAMPLE, which compiles and uses the functions of its page.

    examples.py C-COMPILER LIBRARY-FOLDER [PAGE...]

The code between .EX and .EE is one translation unit. It stands alone if it has an #include, else it is a fragment, and FRAME of
programs.py is around it. One with main() is linked as well. Without PAGE all pages are checked.
"""
import concurrent.futures
import pathlib
import re
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).parent))
from programs import FRAME, ROOT, STANDARD, WARNINGS, unescape_roff  # noqa: E402

# Header of another library -> its name in pkg-config.
PACKAGES = {"rpc/rpc.h": "libtirpc"}


def example_of(page):
    """The code of the section EXAMPLE; empty: the page has none."""
    section = re.search(r"^\.SH EXAMPLE\n(.*?)(?=^\.SH |\Z)", page, flags=re.DOTALL | re.MULTILINE)
    blocks = re.findall(r"^\.EX\n(.*?)^\.EE$", section[1] if section else "", flags=re.DOTALL | re.MULTILINE)
    return unescape_roff("".join(blocks))


def functions_of(page):
    names = re.search(r"^\.SH NAME\n(.*?) \\- ", page, flags=re.DOTALL | re.MULTILINE)[1]
    return re.findall(r"\w+", names)


def flags_of_packages(source):
    """Where the headers of other libraries are. None: one of them is not installed."""
    flags = []
    for name in [name for header, name in PACKAGES.items() if f"<{header}>" in source]:
        asked = subprocess.run(["pkg-config", "--cflags", name], capture_output=True, text=True, check=False)
        if asked.returncode != 0:
            return None
        flags += [re.sub("^-I", "-isystem", flag) for flag in asked.stdout.split()]
    return flags


def compile_example(compiler, library_folder, source, binary):
    """What the compiler complains of."""
    alone = "#include" in source
    foreign = flags_of_packages(source)
    if foreign is None:
        print(f"{pathlib.Path(binary).name}: skipped, a library is not installed")
        return ""
    command = [compiler, *STANDARD["c"], *WARNINGS, f"-I{ROOT}/include", *foreign, "-x", "c", "-", "-x", "none"]
    if re.search(r"\bmain\(", source):
        command += ["-o", binary, f"-L{library_folder}", "-lexs"]
    else:
        command.append("-fsyntax-only")
    done = subprocess.run(command, input=source if alone else FRAME + source + "}\n", capture_output=True, text=True, check=False)
    return done.stderr.strip() or (f"exit {done.returncode}" if done.returncode else "")


def complaint_about(path, compiler, library_folder, folder):
    page = path.read_text()
    source = example_of(page)
    if not source:
        return "has no EXAMPLE"
    unused = [name for name in functions_of(page) if not re.search(rf"\b{name}\(", source)]
    if unused:
        return f"its EXAMPLE does not use {', '.join(unused)}"
    return compile_example(compiler, library_folder, source, f"{folder}/{path.stem}")


def main():
    compiler, library_folder, *names = sys.argv[1:]
    every = [path for path in sorted((ROOT / "man").glob("*.3")) if not path.is_symlink()]
    paths = [path for path in every if path.stem in names] if names else every
    with tempfile.TemporaryDirectory() as folder, concurrent.futures.ThreadPoolExecutor(2) as pool:
        complaints = dict(zip(paths, pool.map(lambda path: complaint_about(path, compiler, library_folder, folder), paths)))
    found = [f"{path.name}: {text}" for path, text in complaints.items() if text]
    print(*found, f"{len(paths)} pages, {len(found)} complaints", sep="\n")
    return 1 if found or not paths else 0


if __name__ == "__main__":
    sys.exit(main())
