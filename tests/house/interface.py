#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""exs.h, src/exs.map, the symbols of libexs.so and the manual say the same.

    interface.py functions LIBRARY   one set of functions in all four
    interface.py pages               pages render without warnings; errors, constants and prototypes are those of the
                                     header, environment variables those of the code
    interface.py exports LIBRARY MAP  the library exports what its map names, all of it and nothing else
    interface.py options PROGRAM     the page of a program has the options that it answers to --help with; --version, a wrong option
                                     and --json are answered as by all others
    interface.py help PROGRAM...     examples say what they do, their arguments and their exit status
    interface.py help_of COMMAND...  the same of one, which the words of COMMAND start
"""
import ctypes
import fnmatch
import json
import pathlib
import re
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parent))
from rooms import files_of  # noqa: E402

ROOT = pathlib.Path(__file__).resolve().parents[2]
MAN = ROOT / "man"

# Convention 7 of the header: these work before exs_init(), so EPERM is none of their errors.
WORK_BEFORE_INIT = {"exs_init", "exs_errtext", "exs_evtname", "exs_setlog", "exs_version_string"}
SECTIONS = ["NAME", "SYNOPSIS", "DESCRIPTION", "RETURN VALUE", "ERRORS", "EVENTS", "THREAD SAFETY", "NOTES", "SOURCE",
            "EXAMPLE", "SEE ALSO"]
REQUIRED = ["NAME", "SYNOPSIS", "DESCRIPTION", "RETURN VALUE", "ERRORS", "THREAD SAFETY", "SOURCE", "SEE ALSO"]

ERRNO = re.compile(r"(?<!with )\bE[A-Z0-9]{3,}\b")  # "ends with ECANCELED" tells an effect, not an error of the call


# Pages of two functions: the second one's is a link to the first one's.
TOLD_WITH = {path.stem: path.resolve().stem for path in sorted(MAN.glob("*.3")) if path.is_symlink()}


class Function:
    def __init__(self, prototype, comment, inline=False):
        self.prototype = " ".join(prototype.split())
        self.inline = inline  # part of every program instead of the library
        self.name = re.search(r"\b(ex[sm]_\w+)\(", self.prototype).group(1)
        self.comment = " ".join(re.sub(r"^ ?\*", "", line) for line in comment.splitlines())
        self.comment = " ".join(self.comment.split())


# The headers of the layers that have libraries of their own.
LAYERS = ["rpc.h", "sunrpc.h", "service.h"]


# What a program includes by including exs.h, and what comes with it.
PARTS = {"exs.h": ["handles.h", "event.h", "exs.h"]}


def text_of(header):
    return "\n".join((ROOT / "include/exs" / part).read_text() for part in PARTS.get(header, [header]))


def functions_of(header):
    text = text_of(header)
    comment = r"(?:/\*((?:(?!\*/).)*)\*/\n)?"
    exported = re.compile(comment + r"^EX[SM](?:_[A-Z]+)?_API ([^;]+;)", re.DOTALL | re.MULTILINE)
    inline = re.compile(comment + r"^static inline ([^{;]+) \{", re.DOTALL | re.MULTILINE)
    found = [Function(m[2], m[1] or "") for m in exported.finditer(text)]
    found += [Function(m[2] + ";", m[1] or "", inline=True) for m in inline.finditer(text)]
    return {f.name: f for f in found}


def header_functions():
    return {**functions_of("exs.h"), **functions_of("msg.h")}


def functions_of_layers():
    return {name: function for header in LAYERS for name, function in functions_of(header).items()}


def header_errors(function, functions, with_besides=False):
    """(errno values of the call, errno values of its event) as the comment in the header has them, or None.

    "Errors as exs_send" counts as if the errors were written out; "besides the errors of exs_send" only
    `with_besides`: those are shown there, but belong on the page."""
    if not function.comment:
        return None
    excluded = r"(?:, but (E\w+(?:, E\w+)*))?"
    as_another = re.compile(r"[Ee]rrors as (exs_\w+)()" + excluded)
    besides = re.compile(r"[Bb]esides the errors of (exs_\w+)( and its event)?" + excluded)
    comment = besides.sub("", as_another.sub("", function.comment))
    call, _, event = comment.partition("Event errors:")
    errors, event_errors = set(ERRNO.findall(call)), set(ERRNO.findall(event))
    for pattern in (as_another, besides) if with_besides else (as_another,):
        other = pattern.search(function.comment)
        if not other:
            continue
        other_errors, other_event_errors = header_errors(functions[other[1]], functions, with_besides)
        inherited = other_errors | (other_event_errors if other[2] else set())
        errors |= inherited - set(re.findall(r"E\w+", other[3] or ""))
        if not other[2]:
            event_errors |= other_event_errors
    is_of_library = function.name not in WORK_BEFORE_INIT and not function.name.startswith("exm_")
    if is_of_library and not function.inline and function.name not in functions_of_layers():
        errors.add("EPERM")
    return errors, event_errors


def sections_of(page):
    parts = re.split(r"^\.SH (.*)$", page, flags=re.MULTILINE)
    return dict(zip(parts[1::2], parts[2::2]))


def tagged_errors(section):
    tags = re.findall(r"^\.TP\n(\.BR? .*)$", section, flags=re.MULTILINE)
    return set(re.findall(r"\bE[A-Z0-9]{3,}\b", " ".join(tags)))


def complain_unless_equal(what, left_name, left, right_name, right):
    for item in sorted(left - right):
        yield f"{what} {item}: in {left_name}, not in {right_name}"
    for item in sorted(right - left):
        yield f"{what} {item}: in {right_name}, not in {left_name}"


def brackets_without_the_header(library):
    """What exs.h has inline, called as Fortran or Python calls it."""
    library.exs_slots_bytes.restype = ctypes.c_size_t
    library.exs_slots_bytes.argtypes = [ctypes.c_uint, ctypes.c_size_t]
    library.exs_slots_init.argtypes = [ctypes.c_void_p, ctypes.c_uint, ctypes.c_size_t]
    library.exs_slots_at.restype = library.exs_slots_begin.restype = ctypes.c_void_p
    library.exs_slots_at.argtypes = [ctypes.c_void_p, ctypes.c_uint64]
    for name in ("exs_slots_begin", "exs_slots_end", "exs_window_begin", "exs_window_end"):
        getattr(library, name).argtypes = [ctypes.c_void_p]
    memory = (ctypes.c_uint64 * (library.exs_slots_bytes(2, 100) // 8))()
    slots = ctypes.addressof(memory)
    library.exs_slots_init(slots, 2, 100)
    seen = []
    for _ in range(2):
        seen += [library.exs_slots_begin(slots) - slots, memory[0]]
        library.exs_slots_end(slots)
        seen += [library.exs_slots_at(slots, memory[0] // 2) - slots, memory[0]]
    library.exs_window_begin(slots)
    seen.append(memory[0])
    library.exs_window_end(slots)
    seen.append(memory[0])
    expected = [64, 1, 64, 2, 192, 3, 192, 4, 5, 6]
    if len(memory) != 40 or seen != expected:
        yield f"slots of two times 100 bytes: {len(memory)} words, steps {seen}, and not {expected}"


class Event(ctypes.Structure):
    _fields_ = [("type", ctypes.c_int32), ("errno", ctypes.c_int32), ("socket", ctypes.c_int32), ("flags", ctypes.c_uint32),
                ("handle", ctypes.c_void_p), ("words", ctypes.c_uint64 * 5)]


def events_without_the_header(library):
    """Words that no header names are read from an event of exs_qpost, and not from another."""
    library.exs_event_user.restype = ctypes.c_uint64
    library.exs_event_user.argtypes = [ctypes.POINTER(Event), ctypes.c_uint]
    library.exs_event_new_socket.argtypes = [ctypes.POINTER(Event)]
    user, accept = 66, 3
    posted, other = Event(type=user, words=(1, 2, 3, 4, 5)), Event(type=accept, words=(0, 7))
    seen = [library.exs_event_user(posted, word) for word in range(6)] + [library.exs_event_user(other, 0)]
    seen += [library.exs_event_new_socket(event) for event in (posted, other)]
    if seen != [1, 2, 3, 4, 5, 0, 0, -1, 7]:
        yield f"what exs_event_user and exs_event_new_socket read: {seen}"


def map_of(path):
    """(version, names) of a map; without a version an empty text."""
    text = re.sub(r"#.*", "", (ROOT / path).read_text())
    version, names = re.fullmatch(r"\s*([\w.]*)\s*\{\s*global:(.*)local: \*;\s*\};\s*", text, re.DOTALL).groups()
    return version, {name.strip() for name in names.split(";") if name.strip()}


def symbols_of(library, version):
    listing = subprocess.run(["nm", "-D", "--defined-only", library], check=True, capture_output=True, text=True).stdout
    # The version itself is an absolute symbol of type A; every function is NAME@@VERSION of type T.
    return {name for *_, kind, name in (line.split() for line in listing.splitlines())
            if not (version and kind == "A" and name.startswith(version))}


def check_exports(library, path):
    version, mapped = map_of(path)
    names = {f"{name}@@{version}" if version else name for name in mapped}
    symbols = symbols_of(library, version)
    yield from (f"{library} exports {name}, which {path} does not name" for name in sorted(symbols)
                if not any(fnmatch.fnmatchcase(name, pattern) for pattern in names))
    yield from (f"{path} names {name}, which {library} does not export" for name in sorted(names) if not fnmatch.filter(symbols, name))
    headers = {"rpc/exs-rpc.map": "rpc.h", "service/exs-service.map": "service.h"}
    if path in headers:
        yield from complain_unless_equal("function", headers[path], set(functions_of(headers[path])), path, mapped)
    print(f"{len(mapped)} names in {path}, {len(symbols)} symbols")


def check_functions(library):
    functions = header_functions()
    header = set(functions)  # inline ones are in the library, too, for languages that do not read headers
    version, mapped = map_of("src/exs.map")
    pages = {path.stem for path in MAN.glob("*.3")}
    symbols = symbols_of(library, version)
    expected = {f"{name}@@{version}" for name in header}
    yield from complain_unless_equal("function", "exs.h and msg.h", header, "src/exs.map", mapped)
    yield from complain_unless_equal("function", "the headers", set(functions) | set(functions_of_layers()), "man/*.3", pages)
    yield from complain_unless_equal("symbol", "exs.h", expected, library, symbols)
    yield from brackets_without_the_header(ctypes.CDLL(library))
    yield from events_without_the_header(ctypes.CDLL(library))
    print(f"{len(header)} functions in exs.h, {len(mapped)} in exs.map, {len(pages)} pages, {len(symbols)} symbols")


def render_warnings(paths):
    """What groff says of pages: by itself, and behind the preprocessors that man(1) has."""
    for options in (["-man"], ["-K", "utf8", "-t", "-mandoc"]):
        done = subprocess.run(["groff", *options, "-Tutf8", "-ww", "-z", *map(str, paths)], capture_output=True, text=True, check=False)
        if done.returncode != 0 or done.stderr:
            yield f"groff {' '.join(options)}: {done.stderr.strip() or 'failed'}"


def synopsis_prototype(synopsis):
    text = re.sub(r"^\.(nf|fi|PP)\b.*$|^\.B #include.*$", "", synopsis, flags=re.MULTILINE)
    text = re.sub(r"^\.BI? ", "", text, flags=re.MULTILINE)
    # .BI joins its arguments without the blanks between them; only quoted ones keep theirs.
    joined = ["".join(quoted or plain for quoted, plain in re.findall(r'"([^"]*)"|(\S+)', line)) if '"' in line else line
              for line in text.splitlines()]
    return " ".join(" ".join(joined).split())


def page_complaints(name, page, function, functions):
    sections = sections_of(page)
    titles = list(sections)
    if not page.splitlines()[1].startswith(f".TH {name} 3 "):
        yield "its .TH line names another page"
    for title in REQUIRED:
        if title not in sections:
            yield f"has no section {title}"
    if titles != [title for title in SECTIONS if title in titles]:
        yield f"sections are unknown or out of order: {', '.join(titles)}"
    names = [name] + [second for second, first in TOLD_WITH.items() if first == name]
    if not sections["NAME"].strip().startswith(", ".join(names) + " \\- "):
        yield "NAME does not begin with the function"
    written = synopsis_prototype(sections["SYNOPSIS"])
    prototypes = [function.prototype] + [functions[second].prototype for second, first in TOLD_WITH.items()
                                         if first == name]
    if re.sub(r"\s", "", written) != re.sub(r"\s", "", "".join(prototypes)):
        yield f"SYNOPSIS is\n    {written}\n  but exs.h has\n    {' '.join(prototypes)}"
    expected = header_errors(function, functions, with_besides=True)
    if expected is None:  # the header leaves the function to its page
        return
    yield from complain_unless_equal("error", "exs.h", expected[0], "ERRORS", tagged_errors(sections["ERRORS"]))
    if expected[1]:
        yield from complain_unless_equal("event error", "exs.h", expected[1], "EVENTS",
                                         tagged_errors(sections.get("EVENTS", "")))


def constants_in(text):
    return set(re.findall(r"\bEX[SM]_[A-Z0-9_]*[A-Z0-9]\b(?!_)", text))


def check_constants(pages):
    headers = "\n".join(map(text_of, ["exs.h", "msg.h", *LAYERS]))
    code = re.sub(r"/\*.*?\*/", "", headers, flags=re.DOTALL)
    defined = {name for name in constants_in(code) if not re.fullmatch(r"EX[SM]_(\w+_)?(H|API)", name)}
    sources = [(ROOT / name).read_text() for name in files_of("settings", "*.cc")]
    reads = r'(?:(?:getenv|setting|switch_from_environment|read_number)\(|\bk\w+Variable = )"(EX[SM]_\w+)"'
    environment = set(re.findall(reads, "\n".join(sources)))
    tools = "\n".join(path.read_text() for path in (ROOT / "tools").rglob("*.cc"))
    of_tools = set(re.findall(r'\bk\w+Variable = "(EX[SM]_\w+)"', tools))
    known = re.search(r"kSettings\[\] = \{(.*?)\}", (ROOT / "base/setting_names.cc").read_text(), re.DOTALL)[1]
    settings = {name for name in environment | of_tools if name.startswith("EXS_")}
    yield from complain_unless_equal("setting", "the code", settings, "base/setting_names.cc", set(re.findall(r'"(\w+)"', known)))
    yield from complain_unless_equal("constant", "the code", defined | environment | of_tools, "the pages",
                                     constants_in("\n".join(pages)))
    for name in ("exs", "exm"):
        overview = sections_of((MAN / f"{name}.7").read_text())["ENVIRONMENT"]
        described = set(re.findall(r"^\.TP\n\.B (EX[SM]_\w+)$", overview, flags=re.MULTILINE))
        read = {variable for variable in environment if variable.startswith(name.upper())}
        yield from complain_unless_equal("variable", "the code", read, f"ENVIRONMENT of {name}.7", described)


def check_pages():
    functions = {**header_functions(), **functions_of_layers()}
    paths = sorted(MAN.glob("*.[1-8]"))
    known = {f"{path.stem} ({path.suffix[1:]})" for path in paths}
    yield from render_warnings(paths)
    for path in paths:
        page = path.read_text()
        for reference in re.findall(r"^\.BR ((?:ex[sm]|tcp-)[\w-]*) \((\d)\)", page, flags=re.MULTILINE):
            if "{} ({})".format(*reference) not in known:
                yield "{}: refers to {}({}), which is not there".format(path.name, *reference)
        if path.suffix == ".3" and path.stem in functions and path.stem not in TOLD_WITH:
            for complaint in page_complaints(path.stem, page, functions[path.stem], functions):
                yield f"{path.name}: {complaint}"
    yield from check_constants([path.read_text() for path in paths])
    print(f"{len(paths)} pages, {len(functions)} functions")


COLUMNS = 90
LIMIT_S = 60  # for a hang alone
OPTIONS_WITHOUT_GROUPS = 12
# A short run of each program that has --json. exs-fetch needs a server, which tools.fetch has.
RUNS = {"exs-run": ["--check", sys.executable], "exs-explain": [], "exs-services": ["--names", "/dev/null"], "exs-fetch": None, "exs-top": [],
        "exs-ping": ["--self", "--port", "0", "--count", "1"], "exs-blast": ["--self", "--port", "0", "--count", "1"],
        "exs-crowd": ["--connections", "2", "--rounds", "1"], "exs-msg-ping": ["--self", "--size", "8", "--messages", "1", "--warm-up", "0"],
        "exs-rpc-ping": ["--self", "--port", "0", "--size", "8", "--calls", "1", "--warm-up", "0"],
        "tcp-baseline": ["--count", "1", "--mode", "ping"], "shm-baseline": ["--time", "0.001", "--mode", "copy"], "verbs-baseline": None}


def answer_of(program, *words, status=0):
    """(standard output, complaints)"""
    what = " ".join([pathlib.Path(program).name, *words])
    done = subprocess.run([program, *words], check=False, capture_output=True, text=True, timeout=LIMIT_S, stdin=subprocess.DEVNULL)
    said = done.stderr if status else done.stdout
    complaints = [] if done.returncode == status else [f"{what}: status {done.returncode}: {done.stderr}"]
    complaints += [f"{what}: colours in what is no terminal"] if "\x1b" in done.stdout + done.stderr else []
    complaints += [f"{what}: {len(line)} columns: {line}" for line in said.splitlines() if len(line) > COLUMNS and "--help" in words]
    return said, complaints


def check_json(program, help_text):
    name = pathlib.Path(program).name
    if ("--json" in help_text) != (name in RUNS):
        yield f"{name}: --json is in its --help or in RUNS here, and not in both"
    if RUNS.get(name) is None:
        return
    answer, complaints = answer_of(program, "--json", *RUNS[name])
    yield from complaints
    try:
        results = json.loads(answer)
    except ValueError:
        yield f"{name} --json: this is not JSON: {answer}"
        return
    for result in results if isinstance(results, list) else [results]:
        if result.get("tool") != name or not isinstance(result.get("schema"), int):
            yield f"{name} --json: no key \"tool\" with its name, or no number \"schema\": {list(result)}"


def check_help_of(program, *words):
    answer, complaints = answer_of(program, *words, "--help")
    yield from complaints
    for part in "usage: ", "exit status":
        if part not in answer:
            yield f"{pathlib.Path(words[-1] if words else program).name} --help: \"{part}\" is not there"


def check_help(*programs):
    for program in programs:
        yield from check_help_of(program)
    print(f"{len(programs)} programs")


def check_options(program):
    name = pathlib.Path(program).name
    answer, complaints = answer_of(program, "--help")
    yield from complaints
    version, complaints = answer_of(program, "--version")
    yield from complaints
    if not re.fullmatch(rf"{name} \d+\.\d+\.\d+\n", version):
        yield f"{name} --version: {version}"
    refusal, complaints = answer_of(program, "--no-such-option", status=2)
    yield from complaints
    if f"{name}: " not in refusal or "--no-such-option" not in refusal:
        yield f"{name}: a wrong option is not named: {refusal}"
    yield from check_json(program, answer)
    groups = re.findall(r"^[A-Z][\w ,]+:$", answer, flags=re.MULTILINE)
    told = set(re.findall(r"^ {2,4}(?:-\w,)?(--[\w-]+)", answer, flags=re.MULTILINE))
    if len(told) > OPTIONS_WITHOUT_GROUPS and len(groups) < 3:
        yield f"{name} --help: {len(told)} options without groups"
    section = sections_of((MAN / f"{name}.1").read_text())["OPTIONS"].replace("\\-", "-")
    written = set(re.findall(r"--[\w-]+", " ".join(re.findall(r"^\.TP\n(.*)$", section, flags=re.MULTILINE))))
    yield from complain_unless_equal("option", f"{name} --help", told, f"man/{name}.1", written)
    print(f"{name}: {len(told)} options in --help, {len(written)} in the page")


def main():
    checks = {"functions": check_functions, "exports": check_exports, "pages": check_pages, "options": check_options,
              "help": check_help, "help_of": check_help_of}
    complaints = list(checks[sys.argv[1]](*sys.argv[2:]))
    print("\n".join(complaints))
    return 1 if complaints else 0


if __name__ == "__main__":
    sys.exit(main())
