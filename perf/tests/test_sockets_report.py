"""perf/sockets-report: every figure that the machine has programs for is there, and the report is readable."""
import json
import pathlib
import subprocess
import sys
import tempfile
import unittest

from tools import BIN, ToolsTest

REPORT = pathlib.Path(__file__).resolve().parents[1] / "sockets-report"


class SocketsReport(ToolsTest):
    def test_a_quick_report_is_whole(self):
        with tempfile.TemporaryDirectory() as folder:
            done = subprocess.run([sys.executable, REPORT, "--quick", "--runs", "1", "--time", "0.05", "--build", BIN.parent, "--out",
                                   folder], capture_output=True, text=True, timeout=200, check=False)
            self.assertEqual(done.returncode, 0, done.stderr)
            report = json.loads(pathlib.Path(folder, "report.json").read_text())
            text = pathlib.Path(folder, "report.md").read_text()
        for row in report["goals"]:
            self.assertGreater(row["ratio"], 0)
            self.assertIn(row["question"], text)
        self.assertGreaterEqual(len(report["goals"]) + len(report["skipped"]), 10)
        for chart in report["charts"]:
            for line in chart["series"]:
                self.assertEqual([point[0] for point in line["points"]], [4, 1024, 65536])
                self.assertTrue(all(point[1] > 0 for point in line["points"]))

    def test_without_a_build_it_says_so(self):
        done = subprocess.run([sys.executable, REPORT, "--build", "/none"], capture_output=True, text=True, timeout=30, check=False)
        self.assertEqual(done.returncode, 1)
        self.assert_one_line(done.stderr, "/none", "build")


if __name__ == "__main__":
    unittest.main()
