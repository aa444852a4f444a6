#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Every relative link of an installed document leads to an installed file or folder.

    links.py FOLDER   the documents below it, share/doc/exs of an installation
"""
import pathlib
import re
import sys

LINK = re.compile(r"\]\((?!https?:|mailto:|#)([^)#\s]+)")


def main():
    root = pathlib.Path(sys.argv[1])
    links = [(document, link) for document in sorted(root.rglob("*.md")) for link in LINK.findall(document.read_text())]
    dead = [f"{document.relative_to(root)}: {link} is not installed" for document, link in links if not (document.parent / link).exists()]
    print(*dead, f"{len(links)} links, {len(dead)} dead", sep="\n")
    return 1 if dead or not links else 0


sys.exit(main())
