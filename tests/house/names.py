#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""A name of a type means one thing in the product, and a function says what it does to what.

    names.py         type names that more than one file defines; words that once meant nine things, alone as the name of a type; and
                     functions whose whole name is a verb without an object; each beside its list, which only shrinks
    names.py --all   besides, where they are
    names.py --shrink  strikes off the lists what is gone

Lists: names_shared.txt (types of several files, "NAME FILES"), names_words.txt (the words, "NAME FILES"), names_verbs.txt ("VERB FUNCTIONS").
A type within another one counts as well: its reader meets it without the name of the outer one.
"""
import collections
import pathlib
import re
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parent))
from rooms import ROOT, files_of  # noqa: E402
from shrinking import allowed, bound, shrink  # noqa: E402

# Each of these may be part of a name: GroupPlace, ServiceLink.
WORDS = ("Place", "Entry", "Slot", "Link", "Window", "Hello", "Frame", "Peer")
VERBS = ("take", "tell", "say", "look", "ask", "begin")

COMMENT_OR_TEXT = re.compile(r'//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"', re.DOTALL)
# A definition, with its base classes, its attributes, and `final`; no declaration, and no parameter of a template.
TYPE = re.compile(r"(?<![<,] )\b(?:class|struct|union)\s+(?:alignas\([^)]*\)\s*|\[\[\w+\]\]\s*|EXS_\w+(?:\([^)]*\))?\s+)*((?:\w+::)*\w+)(?:<[^;{}<>]*>)?"
                  r"(?:\s+final)?\s*(?::[^:;{}][^;{}]*)?\{")
ENUM = re.compile(r"\benum\s+(?:class\s+|struct\s+)?(\w+)\s*(?::[^;{}]*)?\{")
# A declaration or a definition in a class or a namespace: a type before the name, and no operator.
FUNCTION = re.compile(r"^[ \t]*(?:\[\[\w+\]\]\s*)?(?:(?:static|virtual|inline|constexpr|explicit|friend|template\s*<[^;{}]*?>)\s+)*"
                      r"(?!(?:return|co_return|co_await|else|throw|new|delete|case|goto|using)\b)"
                      r"[\w:][\w:<>,*& ]*?[\s*&>](?P<of>(?:\w+::)*)(?P<name>" + "|".join(VERBS) + r")\(", re.MULTILINE)


def bare(text):
    return COMMENT_OR_TEXT.sub(lambda found: re.sub(r"[^\n]", " ", found[0]), text)


def types_in(text):
    code = bare(text)
    return {name.rpartition("::")[2] for name in [*TYPE.findall(code), *ENUM.findall(code)]}


def verbs_in(name, text):
    """(verb, class or file) of each function that is declared or defined: a header and its source say the same one twice."""
    code = bare(text)
    for found in FUNCTION.finditer(code):
        if found["name"] == "begin" and re.search(r"\b(?:auto|\w*[iI]terator)[&*]? begin\($", found[0]):
            continue  # of a range
        inner = re.findall(r"^[ \t]*(?:class|struct)\s+(?:\w+\s+)*?((?:\w+::)*\w+)[^;{}()]*\{", code[:found.start()], re.MULTILINE)
        of = found["of"].rstrip(":").rpartition("::")[2] or (inner[-1].rpartition("::")[2] if inner else name)
        yield found["name"], of


def tables(files):
    types, verbs = collections.defaultdict(set), collections.defaultdict(set)
    for name, text in files.items():
        for each in types_in(text):
            types[each].add(name)
        for verb, of in verbs_in(name, text):
            verbs[verb].add(of)
    return types, verbs


EXAMPLES = (
    ("class A final : public B {\n  struct C {};\n  enum class D : int { kE };\n};\nstruct E;\ntemplate <class F>\nvoid f();\n", {"A", "C", "D"}, {}),
    ("// class A {\nstruct EXS_CAPABILITY(\"m\") M {};\nclass X::Y : Z {};", {"M", "Y"}, {}),
    ("class A {\n  [[nodiscard]] Status take(int);\n  void tell();\n};\nStatus A::take(int) {\n  return take(1);\n}\n", {"A"}, {"take": 1, "tell": 1}),
    ("class A {\n  auto begin() const;\n  const_iterator begin();\n};\n", {"A"}, {}),
    ("void f() {\n  a.take(1);\n  take(2);\n  x = look(3);\n}\nvoid take_it();\n", set(), {}),
)


def complaints(types, verbs):
    shared = {name: files for name, files in types.items() if len(files) > 1}
    for name in sorted(shared.keys() | listed("names_shared.txt")):
        if name not in WORDS:
            yield from bound("names_shared.txt", name, len(shared.get(name, ())))
    for word in WORDS:
        yield from bound("names_words.txt", word, len(types.get(word, ())))
    for verb in VERBS:
        yield from bound("names_verbs.txt", verb, len(verbs.get(verb, ())))


def listed(name):
    return {entry.rpartition(" ")[0] for entry in allowed(name)}


def shrink_lists(types, verbs):
    shrink("names_shared.txt", {name: len(files) for name, files in types.items() if len(files) > 1})
    shrink("names_words.txt", {word: len(types.get(word, ())) for word in WORDS})
    shrink("names_verbs.txt", {verb: len(verbs.get(verb, ())) for verb in VERBS})


def main(arguments):
    wrong = []
    for text, names, functions in EXAMPLES:
        found = tables({"x.h": text})
        if set(found[0]) != names or {verb: len(of) for verb, of in found[1].items()} != functions:
            wrong.append(f"the check is wrong about {text!r}: {dict(found[0])}, {dict(found[1])}")
    types, verbs = tables({name: (ROOT / name).read_text() for name in files_of("names")})
    if arguments == ["--shrink"]:
        shrink_lists(types, verbs)
    if arguments == ["--all"]:
        print(*(f"{name}: {', '.join(sorted(files))}" for name, files in sorted(types.items()) if len(files) > 1 or name in WORDS), sep="\n")
        print(*(f"{verb}(): {', '.join(sorted(of))}" for verb, of in sorted(verbs.items())), sep="\n")
    found = wrong + list(complaints(types, verbs))
    print(*found, f"{len(types)} type names, {sum(len(files) > 1 for files in types.values())} of several files; "
          f"{sum(map(len, verbs.values()))} functions that are a verb alone; {len(found)} complaints", sep="\n")
    return 1 if found or not types else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
