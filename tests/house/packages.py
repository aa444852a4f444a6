#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""The table of packages in scripts/setup: each row has a group and a reason, and what the demo and a build install brings no server.
doc/building.md names what building takes.

A server is what an installation enables for the next boot: a service, socket or timer of systemd that can be enabled, or a script in
/etc/init.d. Looked at are the packages that are installed here, and all that they depend on, but for those that every Debian has.
"""
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
PAGE = ROOT / "doc/building.md"  # names all that building takes
BUILDING = ("build", "layers", "java")
WITHOUT_SERVERS = ("build", "demo", "layers", "java", "lint", "package", "site")
EVERYWHERE = ("required", "important", "standard")
STARTED = re.compile(r"/systemd/system/[^/]+\.(?:service|socket|timer)$|^/etc/init\.d/.")
ROW = re.compile(r"^(\w+) *\| ([^|]+?) *\| (.+)$", re.MULTILINE)


def output_of(*command):
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def rows():
    table = re.search(r"^table='\n(.*?)^'$", (ROOT / "scripts/setup").read_text(), re.DOTALL | re.MULTILINE)[1]
    found = ROW.findall(table)
    assert len(found) == len(table.splitlines()), "a row of the table is not: group | packages | reason"
    return [(group, packages.split(), reason) for group, packages, reason in found]


def listed(*groups):
    """The names that --list has for these groups."""
    lines = output_of(ROOT / "scripts/setup", "--list", *groups).splitlines()
    return [line.split()[1] for line in lines if line.startswith("  ")]


class Installed:
    """What dpkg knows of the packages of this machine."""

    def __init__(self):
        self.depends, self.priority, providers = {}, {}, {}
        form = "${Package}\t${db:Status-Status}\t${Priority}\t${Pre-Depends}, ${Depends}\t${Provides}\n"
        for line in output_of("dpkg-query", "--show", f"--showformat={form}").splitlines():
            name, status, priority, depends, provides = line.split("\t")
            if status == "installed":
                self.priority[name] = priority
                self.depends[name] = [self.names(group, "|") for group in depends.split(",")]
                for other in self.names(provides, ","):
                    providers.setdefault(other, name)
        self.providers = providers

    @staticmethod
    def names(text, separator):
        return [re.split(r"[ (:\[]", word.strip())[0] for word in text.split(separator) if word.strip()]

    def brought_by(self, name):
        """It and all that it depends on, as far as they are here and not everywhere."""
        found, todo = set(), [name]
        while todo:
            package = todo.pop()
            package = package if package in self.priority else self.providers.get(package)
            if package and package not in found and self.priority[package] not in EVERYWHERE:
                found.add(package)
                todo += [other for alternatives in self.depends[package] for other in alternatives]
        return found


def can_be_enabled(path):
    if path.startswith("/etc/init.d/"):
        return True
    file = pathlib.Path(path)
    return file.exists() and re.search(r"^\[Install\]", file.read_text(errors="replace"), re.MULTILINE)


def servers_of(package):
    files = output_of("dpkg-query", "--listfiles", package).splitlines()
    return [path for path in files if STARTED.search(path) and can_be_enabled(path)]


def main():
    wrong = []
    of_group = {}
    for group, names, _ in rows():
        of_group.setdefault(group, []).extend(names)
    for group, names in of_group.items():
        wrong += [f"{group}: {name} is there twice" for name in set(names) if names.count(name) > 1]
        if listed(group) != names:
            wrong.append(f"{group}: --list says other than the table")
    page = PAGE.read_text()
    wrong += [f"{PAGE.name} does not name {name}" for name in listed(*BUILDING) if f"`{name}`" not in page]
    installed, brought = Installed(), {}
    for name in listed(*WITHOUT_SERVERS):
        for package in installed.brought_by(name):
            brought.setdefault(package, name)
    wrong += [f"{name} brings {package} and by it a server: {path}" for package, name in brought.items() for path in servers_of(package)]
    # This check sees servers where there are some: those that the tests call.
    seen = [name for name in listed("test") if name in installed.priority and servers_of(name)]
    print(*wrong, f"{len(brought)} packages looked at; servers among those of the tests: {' '.join(seen) or 'none is installed'}", sep="\n")
    return 1 if wrong or not brought else 0


if __name__ == "__main__":
    if subprocess.run(["sh", "-c", "command -v dpkg-query"], capture_output=True, check=False).returncode != 0:
        print("skipped: this is no Debian")
        sys.exit(77)
    sys.exit(main())
