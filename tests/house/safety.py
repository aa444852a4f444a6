#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""The safety net reaches every room: a table of what each has, and a complaint for each zero that is not on the list safety.txt, which only
shrinks.

    locks    a room with mutexes says of each what it guards (EXS_GUARDED_BY), so that clang can check it
    plain    standard and pthread mutexes, which clang cannot follow; base/locks.h has those with annotations
    errors   a room that gives out errors has a type that nobody can drop ([[nodiscard]], base/status.h), and no bare int or long instead
    checks   a room of a thousand lines states what must hold (EXS_CHECK, EXS_DEBUG_CHECK, assert_held)

The last columns are those of tests/house/rooms.txt, which has its reasons there.

    safety.py --shrink   strikes off the list what is gone
"""
import collections
import re
import sys

from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
from rooms import ROOMS, ROOT, files_of, has, room_of, sources  # noqa: E402
from shrinking import compared, shrink  # noqa: E402

COMMENT_OR_TEXT = re.compile(r'//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"', re.DOTALL)
COUNTED = {
    "locks": r"^\s*(?:mutable\s+|static\s+)?(?:exs::)?(?:Mutex|LeafLock|ShortLock|SlotLock|TableLock)\s+\w+",
    "plain": r"\bstd::(?:recursive_|shared_|timed_)?mutex\s+\w+|\bpthread_mutex_t\s+\w+|\bstd::condition_variable\s+\w+",
    "guarded": r"\bEXS_(?:PT_)?GUARDED_BY\(",
    "held": r"\bEXS_(?:REQUIRES|EXCLUDES|ACQUIRE|RELEASE|ASSERT_CAPABILITY)\(|\bassert_held\(\)",
    "errors": r"\b(?:Status|Result<[^;{}()]*>)\s+[\w:]+\(|\[\[nodiscard\]\]\s+(?:virtual\s+|static\s+)*(?:int|long|ssize_t)\s+\w+\(",
    "codes": r"\breturn\s+(?:-E[A-Z]{2,}|E[A-Z]{3,}|-errno|errno)\s*;",
    "checks": r"\bEXS_(?:DEBUG_)?CHECK\(|\bassert_held\(\)|\bstatic_assert\(",
}
MANY_LINES = 1000
# What gives the plain ones their annotations.
WRAPPERS = ("base/locks.h", "base/condition.h")


def counts():
    """{room: Counter of what its sources have}."""
    found = {room: collections.Counter() for room in ROOMS if has(room, "safety")}
    for name in files_of("safety", "*.h", "*.hpp", "*.cc", "*.c"):
        if name in WRAPPERS:
            continue
        text = (ROOT / name).read_text()
        code = COMMENT_OR_TEXT.sub(lambda word: re.sub(r"[^\n]", " ", word[0]), text)
        room = found[room_of(name)]
        room["lines"] += text.count("\n")
        room.update({what: len(re.findall(pattern, code, re.MULTILINE)) for what, pattern in COUNTED.items()})
    return found


def zeros(room, has_of):
    if has_of["locks"] and not has_of["guarded"]:
        yield f"{room} locks without EXS_GUARDED_BY"
    if has_of["plain"]:
        yield f"{room} plain mutexes"
    if has_of["codes"] and not has_of["errors"]:
        yield f"{room} errors without a [[nodiscard]] type"
    if has_of["lines"] >= MANY_LINES and not has_of["checks"]:
        yield f"{room} without checks"


EXAMPLES = (
    ("Mutex mutex_;\nint a_;", {"locks": 1, "guarded": 0}), ("std::mutex mutex_;", {"plain": 1}), ("// std::mutex m", {"plain": 0}),
    ("std::lock_guard<std::mutex> guard(m);", {"plain": 0}), ("int a EXS_GUARDED_BY(m);", {"guarded": 1}), ("return -EINVAL;", {"codes": 1}),
    ("Status close();", {"errors": 1}), ("[[nodiscard]] int open();", {"errors": 1}), ("EXS_CHECK(a);", {"checks": 1}),
)


def main(arguments):
    wrong = [f"the check is wrong about {what} in: {text}" for text, expected in EXAMPLES for what, count in expected.items()
             if len(re.findall(COUNTED[what], COMMENT_OR_TEXT.sub("", text), re.MULTILINE)) != count]
    table = counts()
    columns = ["lines", *COUNTED]
    print(f"{'room':20}" + "".join(f"{column:>9}" for column in columns) + "  analysed headers")
    for room, count in table.items():
        print(f"{room:20}" + "".join(f"{count[column]:9}" for column in columns) +
              f"  {'yes' if ROOMS[room]['analysed'] else 'no':8} {'yes' if ROOMS[room]['headers'] else 'no'}")
    found = {zero for room, count in table.items() for zero in zeros(room, count)}
    if arguments == ["--shrink"]:
        shrink("safety.txt", found)
    said = wrong + list(compared("safety.txt", found))
    print(*said, f"{len(table)} rooms of {len(sources())} sources, {len(found)} zeros, {len(said)} complaints", sep="\n")
    return 1 if said or not table else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
