#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Programs printed in README.md, in exs(7) and in doc/ compile without a warning, run, and print what is said there.

    programs.py C-COMPILER C++-COMPILER LIBRARY-FOLDER [PAGE...]

The pages of doc/ that are named are left to pages.py.

README.md, exs(7) and exs-sim(7) have one complete program each. In doc/ every block of C or C++ is compiled:
  with main() it is a program; it is run where "It prints:" follows;
  with #include it is a file of its own;
  else it is a fragment, and FRAME is around it.
Words behind the language: name.c keeps the program for a console block; pkg=NAME says that the block is another library's
side, which is skipped where pkg-config does not know NAME.
A console block runs its commands, one line each behind "$ "; the other lines are their output. One that ends with & is a server: it
takes port 0 in place of PORT, and its first line names the port that it got, which the later commands take.
"""
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
RUN_LIMIT_S = 60
PORT = "7471"
WARNINGS = ["-Wall", "-Wextra", "-Wpedantic", "-Werror"]
STANDARD = {"c": ["-std=c11", "-D_DEFAULT_SOURCE"], "cpp": ["-std=c++20"]}
BLOCK = re.compile(r"^```(c|cpp|console)\b([^\n]*)\n(.*?)^```\n(?:\nIt prints:\n\n```\n(.*?)^```\n)?", re.DOTALL | re.MULTILINE)
FRAME = """#include <arpa/inet.h>
#include <errno.h>
#include <exs/exs.h>
#include <stdio.h>
#include <string.h>
void fragment(int socket, exs_qhandle_t queue, exs_mhandle_t region, char *buffer, size_t length, exs_event_t event);
void fragment(int socket, exs_qhandle_t queue, exs_mhandle_t region, char *buffer, size_t length, exs_event_t event) {
  (void)socket, (void)queue, (void)region, (void)buffer, (void)length, (void)event;
"""


class Tree:
    """The folder where blocks become files, and the programs of one document."""

    def __init__(self, compilers, library_folder, folder):
        self.compilers, self.library_folder, self.folder = compilers, library_folder, pathlib.Path(folder)
        self.done = self.skipped = 0

    def compile(self, where, language, source, words=(), link=True):
        """The binary, or None where a header that the block needs is not installed."""
        self.done += 1
        compiler = [self.compilers[language], *STANDARD[language], *WARNINGS, f"-I{ROOT}/include"]
        foreign = []
        for package in [word.removeprefix("pkg=") for word in words if word.startswith("pkg=")]:
            asked = subprocess.run(["pkg-config", "--cflags", *(["--libs"] if link else []), package], capture_output=True,
                                   text=True, check=False)
            if asked.returncode != 0:
                print(f"{where}: skipped, {package} is not installed")
                self.skipped += 1
                return None
            foreign += [re.sub("^-I", "-isystem", flag) for flag in asked.stdout.split()]
        path = self.folder / f"block-{self.done}.{language}"
        path.write_text(source)
        binary = path.with_suffix("")
        libraries = [f"-L{self.library_folder}", "-lexs", f"-Wl,-rpath,{self.library_folder}", "-pthread"]
        run(where, [*compiler, str(path), "-o", str(binary), *foreign, *(libraries if link else ["-c"])])
        for name in words:
            if link and name.endswith((".c", ".cpp")):
                shutil.copy(binary, self.folder / pathlib.Path(name).stem)
        return binary


def run(what, command, **options):
    done = subprocess.run(command, capture_output=True, text=True, timeout=RUN_LIMIT_S, check=False, **options)
    if done.returncode != 0:
        raise SystemExit(f"{what}: {' '.join(command)}: exit {done.returncode}\n{done.stdout}{done.stderr}")
    return done.stdout


def expect(where, printed, promised):
    if promised is not None and printed != promised:
        raise SystemExit(f"{where} promises\n{promised}and it is\n{printed}")


def run_console(where, text, folder):
    """The transcript's commands, in turn; what each prints must be what is printed below it."""
    steps = re.findall(r"^\$ (.*)\n((?:(?!\$ ).*\n)*)", text, re.MULTILINE)
    servers, port = [], PORT
    try:
        for command, promised in steps:
            if command.endswith("&"):
                words = command.rstrip("& ").replace(PORT, "0").split()
                servers.append(subprocess.Popen(words, cwd=folder, stdout=subprocess.PIPE, text=True))
                line = servers[-1].stdout.readline()
                port = re.search(r"\d+", line)[0]
                expect(where, line.replace(port, PORT), promised)
            else:
                expect(where, run(where, ["sh", "-c", command.replace(PORT, port)], cwd=folder), promised)
    finally:
        for server in servers:
            server.send_signal(signal.SIGTERM)
            server.wait(RUN_LIMIT_S)
            server.stdout.close()


def unescape_roff(text):
    return text.replace("\\-", "-").replace("\\e", "\\").replace("\\(aq", "'").replace("\\&", "")


def overviews(tree):
    """The programs of README.md, exs(7) and exs-sim(7). What the last prints is in its page."""
    readme = (ROOT / "README.md").read_text()
    page = (ROOT / "man/exs.7").read_text()
    found = [("README.md", text, printed)
             for text, printed in re.findall(r"```c\n(.*?)```\n+It prints:?\n+```\n(.*?)```", readme, flags=re.DOTALL)]
    found += [("exs.7", unescape_roff(text), None)
              for text in re.findall(r'^\.\\" BEGIN PROGRAM\n\.EX\n(.*?)^\.EE\n', page, flags=re.DOTALL | re.MULTILINE)]
    found += [("exs-sim.7", unescape_roff(text), unescape_roff(printed))
              for text, printed in re.findall(r'^\.\\" BEGIN PROGRAM\n\.EX\n(.*?)^\.EE\n\.\\" END PROGRAM\n\.PP\nIt prints:\n\.PP\n\.EX\n(.*?)^\.EE\n',
                                              (ROOT / "man/exs-sim.7").read_text(), flags=re.DOTALL | re.MULTILINE)]
    missing = {"README.md", "exs.7", "exs-sim.7"} - {where for where, _, _ in found}
    if missing:
        raise SystemExit(f"no program in {', '.join(sorted(missing))}")
    for where, source, promised in found:
        expect(where, run(where, [str(tree.compile(where, "c", source))]), promised)


def block(tree, where, language, words, source, promised):
    """Compiles a block of C or C++, and runs it where the page says what it prints."""
    if "main(" in source:
        binary = tree.compile(where, language, source, words)
        if binary and promised is not None:
            expect(where, run(where, [str(binary)]), promised)
    else:
        alone = "#include" in source
        tree.compile(where, language, source if alone else FRAME + source + "}\n", words, link=False)


def document(path, tree):
    text = path.read_text()
    for match in BLOCK.finditer(text):
        language, words, source, promised = match[1], match[2].split(), match[3], match[4]
        where = f"{path.relative_to(ROOT)}:{text.count(chr(10), 0, match.start()) + 1}"
        if language == "console":
            run_console(where, source, tree.folder)
        else:
            block(tree, where, language, words, source, promised)


def main():
    c_compiler, cpp_compiler, library_folder, *others = sys.argv[1:]
    with tempfile.TemporaryDirectory() as folder:
        tree = Tree({"c": c_compiler, "cpp": cpp_compiler}, library_folder, folder)
        overviews(tree)
        for path in sorted((ROOT / "doc").glob("*.md")):
            if path.stem not in others:
                document(path, tree)
        print(f"{tree.done} blocks of C and C++, {tree.skipped} skipped")


if __name__ == "__main__":
    main()
