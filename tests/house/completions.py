#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Each installed program has completions for bash and zsh that are valid there. Those of bash offer the options that --help names, and
nothing else. Those of zsh show the texts of --help up to the end of a clause.

    completions.py PREFIX   of an installation
"""
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

OPTION = re.compile(r"^\s+(?:-\w,)?(-{1,2}[\w-]+)", re.MULTILINE)
# What a shell would do with NAME -<Tab>.
ASK = """source "$1"; COMP_WORDS=("$2" -); COMP_CWORD=1; "_${2//[!a-zA-Z0-9]/_}"; printf '%s\\n' "${COMPREPLY[@]}" """


MAKER = pathlib.Path(__file__).resolve().parents[2] / "scripts/completion"
# A program whose texts are longer than a line, and what zsh is to show of them.
LONG_TEXTS = """#!/bin/sh
cat <<END
usage: long

Options:
  -a,--all                    Show all of it, to
                              the end of the second
                              line; not this
  --names WORDS Excludes: --all
                              Names of them, each
                              once
  --way auto|iwarp|shm|verbs The way, which
                              is chosen. Not this
  --count UINT in [1 - 64]=1 Excludes: --all
                              Times
  --last                      One line
END
"""
SHOWN = ["Show all of it, to the end of the second line", "Names of them, each once", "The way, which is chosen", "Times", "One line"]


def help_of(program):
    done = subprocess.run([program, "--help"], capture_output=True, text=True, check=False, timeout=60)
    return done.stdout or done.stderr


def told_by(program):
    return set(OPTION.findall(help_of(program)))


def texts_of(zsh):
    """The texts of its options: '--name=[text]:value:'."""
    quoted = re.findall(r"'(?:\([^)]*\)'[^']*')?[^'\[]*\[((?:\\.|'\\''|[^\]\\'])*)\]", zsh)
    return [re.sub(r"\\(.)", r"\1", text.replace("'\\''", "'")) for text in quoted]


def cut_texts(zsh, help_text):
    lines = re.sub(r"\n {9,}(?=[^\s-])", " ", help_text)
    return [text for text in texts_of(zsh) if not re.search(re.escape(text) + r"(\.|;|$)", lines, re.MULTILINE)]


def long_text_complaints():
    with tempfile.TemporaryDirectory() as folder:
        program = pathlib.Path(folder, "long")
        program.write_text(LONG_TEXTS)
        program.chmod(0o755)
        subprocess.run([MAKER, "long", folder, program], check=True, timeout=60)
        shown = texts_of(pathlib.Path(folder, "zsh/_long").read_text())
    if shown != SHOWN:
        yield f"of long texts zsh shows {shown}"


def complaints(prefix, program):
    bash = prefix / "share/bash-completion/completions" / program.name
    zsh = prefix / "share/zsh/site-functions" / f"_{program.name}"
    for path in (bash, zsh):
        if not path.exists():
            yield f"{program.name}: {path.relative_to(prefix)} is not installed"
            return
    offered = subprocess.run(["bash", "-euc", ASK, "bash", bash, program.name], capture_output=True, text=True, check=False)
    if offered.returncode != 0 or offered.stderr:
        yield f"{program.name}: bash says {offered.stderr.strip()}, status {offered.returncode}"
    elif set(offered.stdout.split()) != told_by(program):
        yield f"{program.name}: bash offers {sorted(offered.stdout.split())}, --help names {sorted(told_by(program))}"
    if not zsh.read_text().startswith(f"#compdef {program.name}\n"):
        yield f"{program.name}: {zsh.name} does not begin with #compdef"
    yield from (f"{program.name}: zsh shows a part of a clause: {text}" for text in cut_texts(zsh.read_text(), help_of(program)))
    if shutil.which("zsh"):
        checked = subprocess.run(["zsh", "-n", zsh], capture_output=True, text=True, check=False)
        if checked.returncode != 0 or checked.stderr:
            yield f"{program.name}: zsh says {checked.stderr.strip()}"


def main():
    prefix = pathlib.Path(sys.argv[1])
    programs = sorted((prefix / "bin").iterdir())
    found = [*long_text_complaints(), *(complaint for program in programs for complaint in complaints(prefix, program))]
    print(*found, f"{len(programs)} programs{'' if shutil.which('zsh') else ', without zsh, which is not here'}", sep="\n")
    return 1 if found or not programs else 0


sys.exit(main())
