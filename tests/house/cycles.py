#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""No circle of modules. A module is a header and its source file: neither can be read, tested or replaced without the others of its
circle. What is in a knot today stands in cycles.txt, a knot a line, and that list only shrinks.

    cycles.py              the check
    cycles.py MODULE...    besides, the includes between the modules of the knots that have one of these
    cycles.py --shrink     strikes off the list what is gone
"""
import collections
import pathlib
import re
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parent))
from rooms import ROOT, files_of  # noqa: E402
from shrinking import allowed  # noqa: E402

INCLUDE = re.compile(r'^\s*#\s*include\s*[<"]([^">]+)[">]', re.MULTILINE)


def module_of(name):
    """x.h and x.cc are one. exs.hpp is another one than exs.h: the C++ layer stands upon the C header."""
    path = pathlib.PurePosixPath(name)
    return name if path.suffix == ".hpp" else path.with_suffix("").as_posix()


def arrows(texts):
    """{module: {module: [file that includes]}} of {name: text}."""
    modules = {module_of(name) for name in texts}
    found = collections.defaultdict(lambda: collections.defaultdict(list))
    for name, text in sorted(texts.items()):
        for header in INCLUDE.findall(text):
            to = next((module for module in map(module_of, (header, f"include/{header}")) if module in modules), None)
            if to and to != module_of(name):
                found[module_of(name)][to].append(name)
    return found


def knots(graph):
    """The strongly connected components with more than one module (Tarjan, without recursion)."""
    index, low, stack, on_stack, found = {}, {}, [], set(), []
    for start in sorted(graph):
        work = [(start, iter(sorted(graph[start])))] if start not in index else []
        if work:
            index[start] = low[start] = len(index)
            stack.append(start)
            on_stack.add(start)
        while work:
            module, others = work[-1]
            other = next(others, None)
            if other is None:
                work.pop()
                if work:
                    low[work[-1][0]] = min(low[work[-1][0]], low[module])
                if low[module] == index[module]:
                    at = stack.index(module)
                    knot, stack = stack[at:], stack[:at]
                    on_stack.difference_update(knot)
                    found += [sorted(knot)] if len(knot) > 1 else []
            elif other not in index:
                index[other] = low[other] = len(index)
                stack.append(other)
                on_stack.add(other)
                work.append((other, iter(sorted(graph.get(other, ())))))
            elif other in on_stack:
                low[module] = min(low[module], index[other])
    return sorted(found)


def complaints(found, known):
    """A knot has to lie within one that is known; what has left a knot is struck off."""
    left = {frozenset(entry.split()) for entry in known}
    for knot in found:
        around = next((other for other in left if set(knot) <= other), None)
        if around is None:
            yield f"a circle of {len(knot)} modules: {' '.join(knot)}"
        elif set(knot) != around:
            yield f"no longer in the circle, strike off cycles.txt: {' '.join(sorted(around - set(knot)))}"
            left.discard(around)
        else:
            left.discard(around)
    yield from (f"the circle is gone, strike it off cycles.txt: {' '.join(sorted(other))}" for other in left)


def shrink(found):
    """Each line becomes the knots that are left within it."""
    path = pathlib.Path(__file__).with_suffix(".txt")
    lines = []
    for line in path.read_text().splitlines():
        entry, _, reason = line.partition(" -- ")
        inside = [knot for knot in found if set(knot) <= set(entry.split())]
        lines += [line] if not line.strip() or line.startswith("#") else [f"{' '.join(knot)} -- {reason}" for knot in inside]
    path.write_text("\n".join(lines) + "\n")


EXAMPLES = (
    ({"a.h": "", "a.cc": '#include "b.h"', "b.h": "", "b.cc": '#include "a.h"'}, [["a", "b"]]),
    ({"a.h": '#include "b.h"', "b.h": "", "b.cc": '#include "b.h"'}, []),
    ({"a.h": '#include "b.h"', "b.h": '#include "c.h"', "c.cc": '#include "a.h"', "d.cc": '#include "a.h"'}, [["a", "b", "c"]]),
    ({"include/x/a.h": "", "include/x/a.hpp": "\x23include <x/b.h>", "include/x/b.h": "\x23include <x/a.h>"}, []),
)


def main(arguments):
    wrong = [f"the check is wrong about {texts}" for texts, expected in EXAMPLES if knots(arrows(texts)) != expected]
    graph = arrows({name: (ROOT / name).read_text() for name in files_of("cycles")})
    found = knots(graph)
    for knot in found:
        for module in knot if set(knot) & set(arguments) else ():
            print(*(f"{file} -> {other}" for other in knot for file in graph[module].get(other, ())), sep="\n")
    if arguments == ["--shrink"]:
        shrink(found)
    said = wrong + list(complaints(found, allowed("cycles.txt")))
    print(*said, f"{len(graph)} modules that include others, {len(found)} circles of {sum(map(len, found))} modules, {len(said)} complaints", sep="\n")
    return 1 if said or not graph else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
