# SPDX-License-Identifier: BSD-2-Clause
"""exs-run -n --timeline: the drawing has a row for each rank, with what happened to it, in order. EXS_TOOLS is the folder of the
programs, EXS_JOB_MEMBER a process that does as its arguments say (job_member.cc)."""
import collections
import itertools
import os
import pathlib
import re
import tempfile
import unittest
import xml.etree.ElementTree

from tools import ToolsTest, run

MEMBER = os.environ["EXS_JOB_MEMBER"]
SVG = "{http://www.w3.org/2000/svg}"
SECONDS = {"s": 1, "ms": 1e-3, "us": 1e-6}
MARK = re.compile(r"([\d.e+-]+) (s|ms|us): (.+)")
Mark = collections.namedtuple("Mark", "seconds x")


class Timeline(ToolsTest):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.file = self.folder / "job.svg"

    def job(self, *words, status=0):
        """The drawing of a job."""
        done = run("exs-run", "--timeline", str(self.file), *words)
        self.assertEqual(done.returncode, status, done.stderr)
        return xml.etree.ElementTree.parse(self.file).getroot()

    def rows(self, shown):
        """Label, words of the end and marks of each row: what happened -> when and where."""
        texts = [(float(text.get("y")), text.text) for text in shown.iter(SVG + "text")]
        labels = [(y, text) for y, text in texts if text.startswith("rank ")]
        for y, label in labels:
            (end,) = [text for other, text in texts if other == y and text != label]
            marks = {}
            for path in shown.iter(SVG + "path"):
                title = path.find(SVG + "title")
                found = MARK.fullmatch(title.text) if title is not None else None
                x, top = map(float, re.match(r"M([\d.]+) ([\d.]+)", path.get("d")).groups())
                if found and abs(top - (y - 4)) <= 13:
                    marks.setdefault(found[3], []).append(Mark(float(found[1]) * SECONDS[found[2]], x))
            yield label, end, marks

    def test_ends_in_an_order_and_one_is_killed(self):
        shown = self.job("-n", "3", "--keep-going", MEMBER, "card={rank}", "0:exit=3", "1:deaths=1", "1:kill=9", "2:deaths=2", "2:leave",
                         status=3)
        rows = list(self.rows(shown))
        self.assertEqual([row[:2] for row in rows], [("rank 0", "ended with status 3"), ("rank 1", "was ended by signal 9 (Killed)"),
                                                     ("rank 2", "ended with status 0")])
        ends = [marks[end][0] for _, end, marks in rows]
        for earlier, later in itertools.pairwise(ends):
            self.assertLessEqual(earlier.seconds, later.seconds)
            self.assertLessEqual(earlier.x, later.x)
        for _, end, marks in rows:
            in_order = [marks[what][0] for what in ("joined the job", "has got the cards of all", end)]
            self.assertEqual(in_order, sorted(in_order, key=lambda mark: mark.seconds))
            self.assertIn("wrote lines", marks)
        self.assertIn("left the job", rows[2][2])
        self.assertNotIn("left the job", rows[0][2])
        self.assertEqual(["".join(text.itertext()) for text in shown.iter(SVG + "text")][0], f"exs-run -n 3 {MEMBER}")

    def test_signals_of_exs_run(self):
        rows = list(self.rows(self.job("-n", "2", MEMBER, "card={rank}", "0:kill=9", "1:wait", status=137)))
        self.assertEqual([row[1] for row in rows], ["was ended by signal 9 (Killed)", "was ended by signal 15 (Terminated)"])
        self.assertIn("got signal Terminated", rows[1][2])
        self.assertNotIn("got signal Terminated", rows[0][2])

    def test_a_program_that_joins_no_job(self):
        ((label, end, marks),) = self.rows(self.job("-n", "1", "true"))
        self.assertEqual((label, end, list(marks)), ("rank 0", "ended with status 0", ["ended with status 0"]))

    def test_much_output_is_few_marks(self):
        ((_, _, marks),) = self.rows(self.job("-n", "1", "sh", "-c", "i=0; while [ $i -lt 3000 ]; do echo $i; i=$((i+1)); done"))
        self.assertTrue(1 <= len(marks["wrote lines"]) <= 512)
        times = [mark.seconds for mark in marks["wrote lines"]]
        self.assertEqual(times, sorted(times))

    def test_hosts_are_named(self):
        rows = list(self.rows(self.job("--hosts", "localhost:2", MEMBER, "card={rank}", "leave")))
        self.assertEqual([row[:2] for row in rows], [(f"rank {rank} localhost", "ended with status 0") for rank in (0, 1)])
        self.assertIn("has got the cards of all", rows[1][2])

    def test_names_are_escaped(self):
        program = self.folder / '<a&"b>'
        program.symlink_to("/bin/true")
        self.assertEqual(next(self.job("-n", "1", str(program)).iter(SVG + "text")).text, f"exs-run -n 1 {program}")

    def test_a_file_that_cannot_be_written_changes_no_bad_status(self):
        for ended, status in ("0", 1), ("3", 3):
            done = run("exs-run", "-n", "1", "--timeline", "/nowhere/x.svg", "sh", "-c", f"exit {ended}")
            self.assertEqual(done.returncode, status)
            self.assertIn("exs-run: cannot write /nowhere/x.svg: No such file or directory\n", done.stderr)

    def test_it_belongs_to_jobs(self):
        self.assertEqual(run("exs-run", "--timeline", str(self.file), "true").returncode, 2)
        self.assertFalse(self.file.exists())


if __name__ == "__main__":
    unittest.main()
