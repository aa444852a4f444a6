#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""The list of rooms, tests/house/rooms.txt, for the checks that read all sources; and the check that it is complete.

    rooms.py           every source belongs to a room, every "no" has its reason, every check of sources reads the list
    rooms.py CHECK     the rooms to which this check applies, one a line
    rooms.py CHECK PATTERN...   their files whose names match one of the patterns (*.cc)
"""
import fnmatch
import os
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
LIST = pathlib.Path(__file__).with_suffix(".txt")
SOURCES = ("*.h", "*.hpp", "*.cc", "*.c", "*.cpp")
NOT_OURS = {".git", ".cache", "build", "__pycache__"}

# Check -> the files that make it, and what in them reads the list.
READERS = {
    "analysed": {"scripts/lint": "rooms.py analysed"},
    "headers": {"tests/house/CMakeLists.txt": "rooms.py headers"},
    "layers": {"tests/house/layers.py": 'files_of("layers"'},
    "kernel": {"tests/house/layers.py": 'has(name, "kernel")'},
    "lines": {"tests/house/lines.py": 'files_of("lines"'},
    "settings": {"tests/house/interface.py": 'files_of("settings"'},
    "cycles": {"tests/house/cycles.py": 'files_of("cycles"'},
    "names": {"tests/house/names.py": 'files_of("names"'},
    "safety": {"tests/house/safety.py": 'has(room, "safety")'},
}
# Whatever names three rooms in a row has a list of its own.
ROW_OF_ROOMS = r"""(?:['"]?\b(?:ROOMS)(?:/\*\.\w+|/)?['"]?(?:[,;|]\s*|\s+)){2,}['"]?\b(?:ROOMS)\b"""
# What may: a rule for each folder, or the documents of all folders.
OWN_LISTS = {
    "tests/house/layers.py": "the table of layers has a rule for each folder",
    "tests/house/rooms.py": "this check",
}


def table():
    """({room: {check: bool}}, {(room, check): reason}, complaints)."""
    rooms, reasons, checks, wrong = {}, {}, [], []
    for number, line in enumerate(LIST.read_text().splitlines(), 1):
        words = line.split()
        if line.startswith("# folder ") and not checks:
            checks = words[2:]
        elif line.startswith("#") or not words:
            continue
        elif ": " in line:
            names, _, reason = line.partition(": ")
            names = names.split()
            of = [name for name in names if name in checks]
            reasons.update({(name, check): reason for name in names if name not in checks for check in of})
        elif len(words) == len(checks) + 1 and set(words[1:]) <= {"yes", "no"} and words[0] not in rooms:
            rooms[words[0]] = {check: word == "yes" for check, word in zip(checks, words[1:])}
        else:
            wrong.append(f"tests/house/rooms.txt:{number}: neither a row with yes and no, nor a reason: {line}")
    return rooms, reasons, wrong


ROOMS, REASONS, WRONG = table()


def room_of(name):
    """The room of a file, by its name from the root; None if it has none."""
    found = [room for room in ROOMS if name.startswith(room + "/")]
    return max(found, key=len, default=None)


def has(room, check):
    """Whether a check applies to a room, or to the room of a file."""
    return ROOMS.get(room if room in ROOMS else room_of(room), {}).get(check, False)


def rooms_of(check):
    return [room for room, checks in ROOMS.items() if checks[check]]


def sources():
    """The sources of the tree, by name from the root: those of git with what is new, or, outside of a clone, all."""
    listed = subprocess.run(["git", "-C", ROOT, "ls-files", "--cached", "--others", "--exclude-standard", "--deduplicate", "--", *SOURCES],
                            capture_output=True, text=True, check=False)
    if listed.returncode == 0 and listed.stdout:
        return sorted(name for name in listed.stdout.splitlines() if (ROOT / name).exists())
    found = []
    for folder, below, names in os.walk(ROOT):
        below[:] = [name for name in below if name not in NOT_OURS]
        place = pathlib.Path(folder).relative_to(ROOT)
        found += [(place / name).as_posix() for name in names if any(fnmatch.fnmatch(name, pattern) for pattern in SOURCES)]
    return sorted(found)


def files_of(check, *patterns):
    """The names of the sources to which a check applies."""
    return [name for name in sources() if has(name, check) and any(fnmatch.fnmatch(name, pattern) for pattern in patterns or SOURCES)]


def lists_of_rooms(text):
    tops = sorted({room.split("/")[0] for room in ROOMS})
    bare = re.sub(r'"""(?:.|\n)*?"""', "", re.sub(r"(?m)^\s*#.*$", "", text))
    return [found[0] for found in re.finditer(ROW_OF_ROOMS.replace("ROOMS", "|".join(tops)), bare)]


def complaints(every):
    yield from WRONG
    homeless = sorted({str(pathlib.PurePosixPath(name).parent) for name in every if room_of(name) is None})
    yield from (f"{folder}: has sources, and is in no room of tests/house/rooms.txt" for folder in homeless)
    full = {room_of(name) for name in every}
    yield from (f"{room}: a room without sources; strike it off" for room in ROOMS if room not in full)
    for room, checks in ROOMS.items():
        for check, applies in checks.items():
            if not applies and (room, check) not in REASONS:
                yield f"{room}, {check}: no, and no reason why"
            if applies and (room, check) in REASONS:
                yield f"{room}, {check}: yes, and there is still a reason why not: strike it off"
    yield from (f"{room}: a reason, and no such room" for room in sorted({room for room, _ in REASONS} - ROOMS.keys()))
    columns = set(next(iter(ROOMS.values())))
    yield from (f"{check}: a column that rooms.py knows no reader of" for check in sorted(columns - READERS.keys()))
    for check, readers in READERS.items():
        for reader, call in readers.items():
            if not (ROOT / reader).exists() or call not in (ROOT / reader).read_text():
                yield f"{reader}: does not read the list of rooms for {check} ({call})"
    for path in [*(ROOT / "scripts").iterdir(), *(ROOT / "tests/house").glob("*.py"), ROOT / "tests/house/CMakeLists.txt", ROOT / ".clang-tidy"]:
        name = path.relative_to(ROOT).as_posix()
        if path.is_file() and name not in OWN_LISTS:
            yield from (f"{name}: has a list of rooms of its own: {found}" for found in lists_of_rooms(path.read_text()))


EXAMPLES = (
    ('for folder in ("base", "src", "event"):', True), ("files 'base/*.cc' 'src/*.cc' 'event/*.cc'", True), ("'^(base|src|event|include)/'", True),
    ("foreach(folder base src event)", True), ('("src", "event")', False), ("# base, src, event", False), ('"src/api/"', False),
)


def main(arguments):
    if arguments:
        print(*(files_of(*arguments) if arguments[1:] else rooms_of(arguments[0])), sep="\n")
        return 0
    every = sources()
    wrong = [f"the check is wrong about: {text}" for text, is_list in EXAMPLES if bool(lists_of_rooms(text)) != is_list]
    found = wrong + list(complaints(every))
    applied = sum(applies for checks in ROOMS.values() for applies in checks.values())
    print(*found, f"{len(every)} sources, {len(ROOMS)} rooms, {applied} of {sum(map(len, ROOMS.values()))} checks apply, {len(found)} complaints", sep="\n")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
