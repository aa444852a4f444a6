#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Nothing in the library, the layers and the daemons writes to standard output or error but the sinks for lines, which never wait and
never end the program. What still does is listed with the reason, and the list only shrinks: a place that is gone is to be struck off."""
import pathlib
import re
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parent))
from rooms import files_of  # noqa: E402

ROOT = pathlib.Path(__file__).resolve().parents[2]

# Where lines go: each writes at once or not at all, and without a SIGPIPE.
SINKS = {"base/check.cc", "src/log/log.cc", "sockets/preload/kernel/standard_error.cc", "tools/common/lines.cc", "service/names/lookup_log.cc",
         "src/provider/explanation.cc", "rpc/sunrpc/settings.cc"}

# Besides the rooms of which a program that serves others, or one of somebody else's, is made.
FILES = ("tools/common/lines.cc",)

# Place -> how many there are, and why.
ALLOWED = {}

COMMENT_OR_TEXT = re.compile(r'//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"', re.DOTALL)
WORD = r"(?<![\w.>])(?:std::|::)?"
STREAM = r"(?:STDERR_FILENO|STDOUT_FILENO)"
WRITES = (
    # To a stream that the function knows.
    re.compile(WORD + r"(?:v?printf|puts|putchar|perror|psignal|v?warnx?|v?errx?|v?syslog)\s*\("),
    # To one that is named.
    re.compile(r"(?<!\w)(?:stderr|stdout)(?!\w)"),
    re.compile(r"std::(?:cerr|cout|clog|wcerr|wcout|print|println)(?!\w)"),
    # To the descriptor. What has a name ends with the sink's own tell(), or moves descriptors.
    re.compile(r"(?:\b(?:p?writev?2?|send|sendmsg|v?dprintf)\s*\(|SYS_\w*write\w*,)\s*(?:1|2|" + STREAM + r")\s*,"),
)


def text_without_words(text):
    """Comments and texts become blanks, lines stay."""
    return COMMENT_OR_TEXT.sub(lambda found: re.sub(r"[^\n]", " ", found[0]), text)


def lines_that_write(text):
    bare = text_without_words(text)
    return sorted({bare.count("\n", 0, found.start()) + 1 for pattern in WRITES for found in pattern.finditer(bare)})


def files():
    for name in (*files_of("lines", "*.h", "*.cc", "*.c"), *FILES):
        yield name, (ROOT / name).read_text()


def complaints():
    found = {name: lines_that_write(text) for name, text in files()}
    for name, lines in found.items():
        allowed = ALLOWED.get(name, (0, ""))[0]
        if name in SINKS and name not in ALLOWED:
            continue
        if name in SINKS:  # what it writes as a sink names the descriptor
            lines = [line for line in lines if not re.search(r"STDERR_FILENO", (ROOT / name).read_text().splitlines()[line - 1])]
        if len(lines) > allowed:
            yield from (f"{name}:{line}: writes to standard output or error: let it be a line of the log (src/log/log.h), or of tools::tell()"
                        for line in lines)
        elif len(lines) < allowed:
            yield f"{name}: {allowed} allowed, and {len(lines)} there: strike it off the list"
    yield from (f"{name}: on the list, and not there" for name in {*ALLOWED, *SINKS} - found.keys())


# What the patterns are to see, and what not.
EXAMPLES = (
    ('std::fprintf(stderr, "x");', True), ('perror("x");', True), ('::printf("x");', True), ("std::cerr << 1;", True), ("std::cout << 1;", True),
    ("::write(2, text, 1);", True), ("write(STDERR_FILENO, text, 1);", True), ("::dprintf(2, text);", True), ("puts(text);", True),
    ("std::fputs(text, stdout);", True), ("raw::sys(SYS_write, STDERR_FILENO, line, length);", True), ("vsyslog(1, text, list);", True),
    ("// perror(x)", False), ('say("printf(x)");', False), ("std::snprintf(text, 1, format);", False), ("status.error();", False),
    ("::write(descriptor, text, 1);", False), ("tools::tell(STDERR_FILENO, line);", False), ("::dup2(out, STDOUT_FILENO);", False),
    ("writer.puts(x);", False), ("/* std::cerr */", False), ("error_text(2, x);", False),
)


def main():
    wrong = [f"the patterns are wrong about: {text}" for text, writes in EXAMPLES if bool(lines_that_write(text)) != writes]
    found = wrong + list(complaints())
    print("\n".join(found + [f"{sum(1 for _ in files())} files, {len(found)} complaints"]))
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
