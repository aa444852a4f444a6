#!/usr/bin/env python3
"""Each installed program has completions for bash and zsh that are valid there. Those of bash offer the options that --help names, and
nothing else.

    completions.py PREFIX   of an installation
"""
import pathlib
import re
import shutil
import subprocess
import sys

OPTION = re.compile(r"^\s+(?:-\w,)?(-{1,2}[\w-]+)", re.MULTILINE)
# What a shell would do with NAME -<Tab>.
ASK = """source "$1"; COMP_WORDS=("$2" -); COMP_CWORD=1; "_${2//[!a-zA-Z0-9]/_}"; printf '%s\\n' "${COMPREPLY[@]}" """


def told_by(program):
    done = subprocess.run([program, "--help"], capture_output=True, text=True, check=False, timeout=60)
    return set(OPTION.findall(done.stdout or done.stderr))


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
    if shutil.which("zsh"):
        checked = subprocess.run(["zsh", "-n", zsh], capture_output=True, text=True, check=False)
        if checked.returncode != 0 or checked.stderr:
            yield f"{program.name}: zsh says {checked.stderr.strip()}"


def main():
    prefix = pathlib.Path(sys.argv[1])
    programs = sorted((prefix / "bin").iterdir())
    found = [complaint for program in programs for complaint in complaints(prefix, program)]
    print(*found, f"{len(programs)} programs{'' if shutil.which('zsh') else ', without zsh, which is not here'}", sep="\n")
    return 1 if found or not programs else 0


sys.exit(main())
