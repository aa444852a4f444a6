# SPDX-License-Identifier: BSD-2-Clause
"""Lists of what a check still allows. They only shrink: what is not on the list is a complaint, and what is on it and no longer there
is one as well, so that a fault that is gone is struck off and cannot come back.

A list is a text file beside the check: lines with "#" and empty ones are for readers, and what follows " -- " is the reason.
"""
import pathlib

HERE = pathlib.Path(__file__).resolve().parent


def allowed(name):
    """{entry: reason} of tests/house/NAME."""
    entries = {}
    for line in (HERE / name).read_text().splitlines():
        if line.strip() and not line.startswith("#"):
            entry, _, reason = line.partition(" -- ")
            entries[" ".join(entry.split())] = reason.strip()
    return entries


def compared(name, found):
    """Complaints about the entries that a check found, beside those that its list allows."""
    known = allowed(name)
    yield from (f"{entry}: is not allowed by tests/house/{name}" for entry in sorted(found - known.keys()))
    yield from (f"{entry}: is gone; strike it off tests/house/{name}" for entry in sorted(known.keys() - found))


def bound(name, what, count):
    """Complaints about a number, beside the bound that the list has for it as a line "WHAT COUNT"."""
    bounds = {entry.rpartition(" ")[0]: int(entry.rpartition(" ")[2]) for entry in allowed(name)}
    most = bounds.get(what, 0)
    if count > most:
        yield f"{what}: {count}, and at most {most} are allowed by tests/house/{name}"
    elif count < most:
        yield f"{what}: {count} in place of {most}; lower the bound in tests/house/{name}"


def shrink(name, found):
    """Strikes off what is gone: `found` is a set of entries, or {what: count} of bounds. Never adds, and raises no bound."""
    lines = []
    for line in (HERE / name).read_text().splitlines():
        entry = " ".join(line.partition(" -- ")[0].split())
        if not line.strip() or line.startswith("#"):
            lines.append(line)
        elif isinstance(found, dict):
            what, _, most = entry.rpartition(" ")
            if count := min(found.get(what, 0), int(most)):
                lines.append(line.replace(f"{what} {most}", f"{what} {count}", 1))
        elif entry in found:
            lines.append(line)
    (HERE / name).write_text("\n".join(lines) + "\n")
