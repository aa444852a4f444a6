#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""The pages of doc/ that lead through a shell: each block is done as a reader would do it, with exs as it is installed.

    pages.py PREFIX PAGE...

A page is one session of bash in a new folder. The blocks do this:
  with the name of a file behind the language, a block becomes that file;
  console: the commands, one behind each "$ ", are typed in turn. A line that begins with "> " continues a command. The other lines
  are what the command prints;
  c or cpp without a name: as in programs.py, which see;
  text: a picture, or what is only shown.
What is printed may differ in its numbers, in IDs of services and in the blanks of a table. A line "..." stands for any lines, and
"..." at the end of one for its rest.
Words behind console:
  exact         numbers have to be those of the page;
  needs=NAME    the block is skipped where there is no such program, or file;
  listens=PORT  a command in the background is a server: the session goes on when it listens there;
  writes=FILE   likewise, when it has written to that file;
  source        it is typed in a copy of the source;
  not-run=WHY   shown and not done, because it needs other hosts or changes this one.
"/usr/local" means PREFIX, and cc takes every warning for an error.
"""
import os
import pathlib
import re
import select
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from functools import partial

import programs

LIMIT_S = 300  # for a hang alone
BLOCK = re.compile(r"^```([^\s`]*)[ ]?([^\n`]*)\n(.*?)^```\n(?:\nIt prints:\n\n```\n(.*?)^```\n)?", re.DOTALL | re.MULTILINE)
STEP = re.compile(r"^\$ (.*\n(?:> .*\n)*)((?:(?!\$ ).*\n)*)", re.MULTILINE)
JOB_NOTICE = re.compile(r"^/dev/fd/\d+: line \d+: +\d+ (?:Terminated|Killed) .*\n", re.MULTILINE)  # other shells say it otherwise
MARK = "-- done"
LISTENING = "0A"


class Session:
    """A shell that is fed with commands, as by somebody who types them."""

    def __init__(self, folder, prefix):
        self.prefix = prefix
        reading, self.typing = os.pipe()
        self.shell = subprocess.Popen(["bash", "--norc", f"/dev/fd/{reading}"], cwd=folder, env=environment(folder, prefix),
                                      stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, pass_fds=[reading],
                                      start_new_session=True)
        os.close(reading)

    def do(self, command):
        """What the command prints, and its status."""
        typed = f"{command.replace('/usr/local', self.prefix)}\nprintf '\\n{MARK} %s\\n' $?\n"
        os.write(self.typing, typed.encode())
        said, until = b"", time.monotonic() + LIMIT_S
        while not (end := re.search(rb"\n" + MARK.encode() + rb" (\d+)\n", said)):
            if not select.select([self.shell.stdout], [], [], max(0, until - time.monotonic()))[0]:
                raise SystemExit(f"{command}: no end in {LIMIT_S} s\n{said.decode()}")
            piece = os.read(self.shell.stdout.fileno(), 65536)
            if not piece:
                raise SystemExit(f"{command}: ends the shell\n{said.decode()}")
            said += piece
        printed = JOB_NOTICE.sub("", said[:end.start()].decode())
        if printed and not printed.endswith("\n"):
            printed += "\n"
        return printed.replace(self.prefix, "/usr/local"), int(end[1])

    def end(self):
        """Servers of the page end with it."""
        os.close(self.typing)
        for number in (signal.SIGTERM, signal.SIGKILL):
            try:
                os.killpg(self.shell.pid, number)
                self.shell.wait(10)
            except (ProcessLookupError, subprocess.TimeoutExpired):
                pass
        self.shell.stdout.close()


def environment(folder, prefix):
    """That of a user who has installed exs and nothing else: programs, manual pages and pkg-config find it."""
    kept = {name: os.environ[name] for name in ("TMPDIR", "USER", "LOGNAME") if name in os.environ}
    as_root = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"} if os.geteuid() == 0 else {}
    return {**kept, **as_root, "HOME": str(folder), "LC_ALL": "C.UTF-8", "PATH": f"{folder}/.bin:{prefix}/bin:{os.environ['PATH']}",
            "LD_LIBRARY_PATH": f"{prefix}/lib", "PKG_CONFIG_PATH": f"{prefix}/lib/pkgconfig", "OMPI_MCA_rmaps_base_oversubscribe": "1"}


def fold(text, exact):
    """What may vary from run to run becomes the same."""
    if not exact:
        text = re.sub(r"exs:[0-9a-f]{32}", "exs:ID", text)
        text = re.sub(r"\d[\d.,]*", "#", text)
    return re.sub(r"[ \t]+", " ", re.sub(r"[ \t\r]+$", "", text, flags=re.MULTILINE))


def is_as_promised(printed, promised, exact):
    def pattern(line):
        if line == "...":
            return r"(?:.*\n)*?"
        return re.escape(line.removesuffix("...")) + (r".*\n" if line.endswith("...") else r"\n")

    lines = [pattern(line) for line in fold(promised, exact).splitlines()]
    return re.fullmatch("".join(lines), fold(printed, exact)) is not None


def listens(port):
    """The kernel's tables tell of it; a connect would be a client."""
    wanted = re.compile(rf":{port:04X} [0-9A-F]+:0000 {LISTENING} ")
    return any(wanted.search(pathlib.Path(f"/proc/net/{table}").read_text()) for table in ("tcp", "tcp6"))


def has_bytes(file):
    return file.exists() and file.stat().st_size > 0


def wait_until(is_so, what):
    until = time.monotonic() + LIMIT_S
    while not is_so():
        if time.monotonic() > until:
            raise SystemExit(f"{what}: not ready after {LIMIT_S} s")
        time.sleep(0.02)


def missing(words, prefix):
    names = [word.removeprefix("needs=").replace("/usr/local", prefix) for word in words if word.startswith("needs=")]
    path = f"{prefix}/bin:{os.environ['PATH']}"
    return [name for name in names if not shutil.which(name, path=path) and not pathlib.Path(name).exists()]


def type_in(session, folder, where, text, words):
    """The transcript of a block, step by step."""
    ports = [int(word.removeprefix("listens=")) for word in words if word.startswith("listens=")]
    steps = STEP.findall(text)
    if "".join(f"$ {typed}{promised}" for typed, promised in steps) != text:
        raise SystemExit(f'{where}: a line comes before the first "$ "')
    if "source" in words:
        copy_source(folder / "exs")
        session.do("cd exs")
    for typed, promised in steps:
        command = typed.replace("\n> ", "\n").rstrip("\n")
        is_server = re.search(r" & ?(\w+=\$!)?$", command)
        printed, status = session.do(command)
        if status != 0:
            raise SystemExit(f"{where}: {command}: exit {status}\n{printed}")
        if not is_as_promised(printed, promised, "exact" in words):
            raise SystemExit(f"{where}: {command}: the page promises\n{promised}and it is\n{printed}")
        if is_server and ports:
            wait_until(partial(listens, ports.pop(0)), f"{where}: {command}")
        for file in words:
            if is_server and file.startswith("writes=") and f"> {file.removeprefix('writes=')} &" in command:
                wait_until(partial(has_bytes, folder / file.removeprefix("writes=")), f"{where}: {command}")
    if "source" in words:
        session.do("cd ..")


def copy_source(folder):
    if not folder.exists():
        shutil.copytree(programs.ROOT, folder, ignore=shutil.ignore_patterns("build", ".git", "__pycache__"))


def page(path, tree, session):
    """Does the blocks of one page, in turn; how many were skipped."""
    text, skipped = path.read_text(), 0
    for match in BLOCK.finditer(text):
        language, words, source, promised = match[1], shlex.split(match[2]), match[3], match[4]
        where = f"{path.name}:{text.count(chr(10), 0, match.start()) + 1}"
        why = next((word.removeprefix("not-run=") for word in words if word.startswith("not-run=")), None)
        lacking = missing(words, session.prefix)
        if why is not None or lacking:
            print(f"{where}: skipped: {why or 'without ' + ', '.join(lacking)}")
            skipped += why is None
        elif language == "console":
            type_in(session, tree.folder, where, source, words)
        elif words and "=" not in words[0]:
            (tree.folder / words[0]).write_text(source.replace("/usr/local", session.prefix))
        elif language in ("c", "cpp"):
            programs.block(tree, where, language, words, source, promised)
        elif language != "text":
            raise SystemExit(f'{where}: a block of "{language}" has no name, so nothing tries it')
    return skipped


def warn_of_everything(folder):
    """cc and c++ of the session, which take warnings for errors."""
    (folder / ".bin").mkdir()
    for name in ("cc", "c++"):
        wrapper = folder / ".bin" / name
        wrapper.write_text(f'#!/bin/sh\nexec {shutil.which(name)} -Wall -Wextra -Werror "$@"\n')
        wrapper.chmod(0o755)


def main():
    prefix = str(pathlib.Path(sys.argv[1]).resolve())
    for name in sys.argv[2:]:
        with tempfile.TemporaryDirectory() as folder:
            warn_of_everything(pathlib.Path(folder))
            tree = programs.Tree({"c": "cc", "cpp": "c++"}, f"{prefix}/lib", folder)
            session = Session(folder, prefix)
            try:
                skipped = page(programs.ROOT / "doc" / f"{name}.md", tree, session)
            finally:
                session.end()
        print(f"{name}: done, {skipped} blocks skipped")


if __name__ == "__main__":
    main()
