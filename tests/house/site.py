#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""scripts/site makes a page of each document and manual page, whose links all lead somewhere, which loads nothing from elsewhere and
which is found by its words. A dead link ends it with 1. Where there is a chromium, the search is asked in it."""
import json
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
SITE = ROOT / "scripts/site"
LIMIT_S = 600  # for a hang alone
LOADED = re.compile(r"<(?:link|script|img)\b[^>]*?(?:href|src)=[\"']([^\"']*)")


def check(folder):
    return subprocess.run([SITE, "--check", folder], capture_output=True, text=True, timeout=LIMIT_S, check=False)


class Site(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.world = tempfile.TemporaryDirectory()
        cls.addClassCleanup(cls.world.cleanup)
        cls.folder = pathlib.Path(cls.world.name) / "site"
        made = subprocess.run([SITE, cls.folder], capture_output=True, text=True, timeout=LIMIT_S, check=False)
        if made.returncode != 0:
            raise AssertionError(f"status {made.returncode}\n{made.stdout}{made.stderr}")

    def page(self, name):
        return (self.folder / name).read_text()

    def test_documents_and_manual_pages_are_there(self):
        names = ["index.html", "figures/index.html", "man/index.html", "doc/index.html", "src/index.html"]
        names += [f"doc/{file.stem}.html" for file in (ROOT / "doc").glob("*.md") if file.name != "README.md"]
        names += [f"man/{file.name}.html" for file in (ROOT / "man").iterdir()]
        self.assertEqual([], [name for name in names if not (self.folder / name).is_file()])

    def test_references_of_the_manual_are_links(self):
        self.assertIn('<a href="exs_recv.3.html">exs_recv(3)</a>', self.page("man/exs_send.3.html"))
        self.assertIn('<a href="../man/exs-run.1.html">exs-run</a>', self.page("doc/unmodified-programs.html"))
        self.assertNotIn("memfd_create.2.html", self.page("man/exs-explain.1.html"))

    def test_figures_are_those_of_the_reports(self):
        page = self.page("figures/index.html")
        charts = [file for file in (ROOT / "perf/results").glob("*/*.svg") if (file.parent / "report.md").exists()]
        self.assertTrue(charts)
        self.assertEqual([], [file.name for file in charts if f'src="../{file.relative_to(ROOT)}"' not in page])
        self.assertIn("<td>redis GET, unmodified, one client</td>", page)

    def test_pages_load_nothing_from_elsewhere(self):
        for file in self.folder.rglob("*.html"):
            self.assertEqual([], [name for name in LOADED.findall(file.read_text()) if re.match(r"[a-z]+:|/", name)], file)

    def test_a_dead_link_is_found(self):
        self.assertEqual(0, check(self.folder).returncode)
        for change, said in (('<a href="exs_nothing.3.html">', "exs_nothing.3.html leads nowhere"),
                             ('<a href="exs_recv.3.html#NOWHERE">', "exs_recv.3.html#NOWHERE leads to no place of that page"),
                             ('<a href="#NAME"><a href="#NAME">', "a link inside of a link")):
            other = pathlib.Path(self.world.name) / "other"
            shutil.copytree(self.folder, other)
            page = other / "man/exs_send.3.html"
            page.write_text(page.read_text().replace("</main>", change + "x</a></main>"))
            result = check(other)
            shutil.rmtree(other)
            self.assertEqual((1, [f"man/exs_send.3.html: {said}"]), (result.returncode, result.stdout.splitlines()[:-1]))

    def test_the_index_has_words_and_places(self):
        index = json.loads(self.page("search-index.js").removeprefix("exsIndex(").removesuffix(");\n"))
        number = [page[0] for page in index["pages"]].index("man/exs_send.3.html")
        self.assertIn(number, index["words"]["exs_persistent"][::2])
        self.assertIn([number, "EAGAIN", "EAGAIN"], index["headings"])
        self.assertEqual(["exs_send(3)", "send a message or bytes of a stream", "Manual"], index["pages"][number][1:])

    @unittest.skipUnless(shutil.which("chromium"), "there is no chromium (scripts/setup suites)")
    def test_a_search_finds_the_page(self):
        profile = pathlib.Path(self.world.name) / "profile"
        # As root it has no sandbox, and here it shows nothing but what is ours.
        options = ["--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", f"--user-data-dir={profile}",
                   "--virtual-time-budget=30000", "--dump-dom"]
        shown = subprocess.run(["chromium", *options, f"file://{self.folder}/doc/tutorial.html?q=exs_send eagain"],
                               capture_output=True, text=True, timeout=LIMIT_S, check=True).stdout
        found = re.search(r'<ol id="found">(.*?)</ol>', shown, re.DOTALL)[1]
        self.assertEqual(("../man/exs_send.3.html", "exs_send(3)"), re.search(r'<a href="([^"]*)">([^<]*)</a>', found).groups())


if __name__ == "__main__":
    missing = [program for program in ("pandoc", "mandoc") if not shutil.which(program)]
    if missing:
        print(f"skipped: there is no {' and no '.join(missing)} (scripts/setup site)")
        sys.exit(77)
    unittest.main()
