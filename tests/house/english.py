#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""The prose of documents and manual pages is plain: a sentence begins with its subject, has at most 35 words, and uses the words of the
field.

    english.py             checks the tree
    english.py FILE...     checks these files
"""
import os
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
NOT_OURS = {".git", ".cache", "build", "__pycache__", "node_modules"}
MOST_WORDS = 35

# Sentences that begin so leave their subject for later, or have none. Questions may.
OPENER = re.compile(r"(Of (?!course)|Who\b|Who(ever|m|mever|se)\b|What\b|Whatever\b|Whichever\b|None(?=:|,| is| are)|"
                    r"(So|Nor|Neither) (do|does|did|is|are|was|has|have|can|may|must|will)\b|"
                    r"(To|By|For|From|In|On|With|At) (who|whom|what|which|whoever|whatever)\b|(One|He|She) (who|that)\b)")
# A "who" behind one of these, or behind a comma, has no noun to belong to.
LONELY = r"(?:to|by|of|for|from|with|as|than|and|or|but|if|when|because|that|also|then|since|unless|until|between|about|only|so|is|tells?|shows?|knows?|says?|sees?)"
WORDS = re.compile(r"\b(tells?|telling|told|tellers?|hears?|heard|hearing|whoever|whomever|(?<!there )(?:is|are|was|were) none|"
                   r"what (?:is|are|was|were)|(?:(?<=[,;:(] )|\b" + LONELY + r" )whom?\b|"
                   r"heirs?|debts?|debtors?|housekeepers?|naps?|referees?)\b", re.IGNORECASE)
END = re.compile(r"(?<!e\.g)(?<!i\.e)(?<!cf)(?<!vs)(?<!etc)(?<!No)(?<!\.\.)[.!?][\"')\]]*(?:\n|\s+(?=[\"'(\[]*[A-Z`]))")


ITEM = re.compile(r"\s*([-*+]|\d+\.)\s+")
RULE = re.compile(r"\|[\s:|-]+$")  # below the head of a table
SILENT = re.compile(r"\s*$|#+ |\[[^\]]+\]: |<!--")  # no prose: a blank line, a heading, where a link leads, a remark


def code(text):
    return "`" + text.replace(" ", "\u00a0").replace("`", "") + "`"  # one word, whatever it has inside


class Prose:
    """Blocks of prose, each a line number and text that has as many lines as the file has there."""

    def __init__(self):
        self.blocks, self.lines, self.first = [], [], 0

    def add(self, number, text):
        self.first = self.first if self.lines else number
        self.lines.append(text)

    def end(self):
        self.blocks.append((self.first, "\n".join(self.lines)))
        self.lines = []


def of_markdown(text):
    prose, fenced, listed, lines = Prose(), False, False, text.splitlines()
    for number, line in enumerate(lines, 1):
        line = line.removeprefix("> ")
        item = ITEM.match(line)
        if (fence := re.match(r"\s*(```|~~~)", line)) or fenced or SILENT.match(line):
            prose.end()
            fenced ^= bool(fence)
        elif line.lstrip().startswith("|"):
            is_head = RULE.match(line.lstrip()) or number < len(lines) and RULE.match(lines[number].lstrip())
            for cell in [] if is_head else re.sub(r"`[^`]*`", lambda found: found[0].replace("|", "/"), line).split("|"):
                prose.end()
                prose.add(number, cell.strip())
            prose.end()
        elif item or prose.lines or listed or not line.startswith("    "):  # the rest is code by indentation
            listed = bool(item) or (listed and line.startswith(" "))
            if item:
                prose.end()
            prose.add(number, line[item.end():] if item else line)
    prose.end()
    for number, block in prose.blocks:
        block = re.sub(r"`+([^`]+)`+", lambda found: code(found[1]), block)
        yield number, re.sub(r"\*\*|<[^>]*>", "", re.sub(r"!?\[([^\]]*)\]\([^)]*\)", r"\1", block))


def plain(text):
    """Text of a page without its escapes."""
    text = re.sub(r"\\f[BI](.*?)\\f[RP]", lambda found: code(found[1]), re.sub(r"\\f\(C[WBR]", r"\\fB", text))
    for escape, meaning in ((r"\-", "-"), (r"\&", ""), (r"\~", "\u00a0"), (r"\e", "\\"), (r"\(bu", "*"), (r"\[dq]", '"'), (r"\(aq", "'")):
        text = text.replace(escape, meaning)
    return re.sub(r"\\f[A-Z]|\\[/,|^ ]", "", text)


def in_fonts(macro, rest):
    words = [quoted or bare for quoted, bare in re.findall(r'"([^"]*)"|(\S+)', plain(rest))]
    if len(macro) == 1:
        return code(" ".join(words))
    return "".join(word if macro[at % 2] == "R" else code(word) for at, word in enumerate(words))


def of_manual(text):
    prose, tag_follows, skipped, section = Prose(), False, False, ""
    for number, line in enumerate(text.splitlines(), 1):
        macro, _, rest = line[1:].partition(" ") if line.startswith((".", "'")) else ("", "", line)
        section = rest if macro == "SH" else section
        skipped = (skipped or macro in ("EX", "nf", "TS")) and macro not in ("EE", "fi", "TE")
        is_font = macro in ("B", "I", "BR", "RB", "BI", "IB", "IR", "RI", "SB", "SM")
        if tag_follows and (is_font or not macro):
            tag_follows = False
        elif skipped or section in ("", "NAME", "SYNOPSIS", "SEE ALSO"):
            prose.end()
        elif not macro and rest or is_font:
            prose.add(number, in_fonts(macro.replace("SM", "R"), rest) if is_font else plain(rest))
        elif line.startswith('.\\"'):
            prose.add(number, "")
        else:
            prose.end()
            tag_follows = macro in ("TP", "TQ")
    prose.end()
    return prose.blocks


def sentences(blocks):
    for number, block in blocks:
        at = 0
        for end in [*(found.end() for found in END.finditer(block)), len(block)]:
            yield number + block.count("\n", 0, at), re.sub(r"[ \n]+", " ", block[at:end]).strip()
            at = end


def findings(path, text):
    """(line, kind, sentence) of a file."""
    for number, sentence in sentences(of_markdown(text) if path.suffix == ".md" else of_manual(text)):
        bare = re.sub(r"`[^`]*`", "CODE", sentence)
        if OPENER.match(bare.lstrip("\"'(")) and not bare.endswith("?"):
            yield number, "opener", sentence
        if sum(1 for word in bare.split() if re.search(r"\w", word)) > MOST_WORDS:
            yield number, "long", sentence
        yield from ((number, f"word '{found[0]}'", sentence) for found in WORDS.finditer(bare) if not bare.endswith("?"))


def files():
    for path in sorted([*ROOT.rglob("*.md"), *(ROOT / "man").glob("*.[1-8]")]):
        name = path.relative_to(ROOT)
        if not NOT_OURS.intersection(name.parts) and not name.is_relative_to("perf/results") and not path.is_symlink():
            yield path


# Texts, and the lines and kinds that are found in them.
EXAMPLES = (
    ("a.md", "Of two, the last wins.", "1 opener"), ("a.md", "A call\nends. Who calls\nwaits.", "2 opener"), ("a.md", "What is exs?", ""),
    ("a.md", "None: it ends.", "1 opener"), ("a.md", "None of the calls blocks. Of course it ends.", ""), ("a.md", "So does a send.", "1 opener"),
    ("a.md", "The call is told so.", "1 word"), ("a.md", "Use `tell who` and [it](who.md).", ""), ("a.md", "Users who call wait.", ""),
    ("a.md", "It serves who asks.", ""), ("a.md", "It belongs to who asks.", "1 word"), ("a.md", "Others are none; there is none.", "1 word"),
    ("a.md", "```\nOf code\n| Of |\n```\n\n    Who indented\n\n# What is a head\n\nText.", ""), ("a.md", "| What |\n|---|\n| a call |\n| Who calls |", "4 opener"),
    ("a.md", "- one\n\n  | What |\n  |---|\n  | Who calls |", "5 opener"),
    ("a.md", "- one\n- Whoever calls", "2 opener 2 word"), ("a.md", "a, " * 36, "1 long"), ("a.md", "a, " * 35, ""), ("a.md", "`a b c` " * 35, ""),
    ("a.md", "a " * 20 + "7. A " + "a " * 20, ""), ("a.md", "a " * 20 + ". A " + "a " * 20, ""), ("a.3", ".SH A\n" + "a " * 20 + ".\na " + "a " * 20, ""),
    ("a.md", "It takes e.g. Of.", ""), ("a.md", "Do it, i.e. now. Of it.", "1 opener"),
    ("a.3", ".SH NAME\nWho\n.SH NOTES\n.TP\n.B Who\nA text.\n.TP\nWho\nWho is it.", "9 opener"), ("a.3", ".SH A\nIt\n.BR ends (3).\nOf it.", "4 opener"),
    ("a.3", ".SH A\n.EX\nWho\n.EE\n.nf\nWho\n.fi\n.B told\n\\fBtold\\fR", ""), ("a.3", ".SH SYNOPSIS\nWho\n.SH A\n.RB ( a ),\nit has told.", "4 word"),
)


def main(arguments):
    wrong = [f"the check is wrong about {text!r}: it finds {have!r}" for name, text, expected in EXAMPLES
             if (have := " ".join(f"{line} {kind.split()[0]}" for line, kind, _ in findings(pathlib.Path(name), text))) != expected]
    paths = [pathlib.Path(name).resolve() for name in arguments] or list(files())
    found = wrong + [f"{os.path.relpath(path)}:{line}: {kind}: {sentence}" for path in paths
                     for line, kind, sentence in findings(path, path.read_text())]
    print("\n".join(found + [f"{len(paths)} files, {len(found)} complaints"]))
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
