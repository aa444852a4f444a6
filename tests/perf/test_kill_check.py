# SPDX-License-Identifier: BSD-2-Clause
"""perf/kill-check ends well where nothing is wrong, and finds each thing that is."""
import os
import pathlib
import re
import subprocess
import unittest

SCRIPT = pathlib.Path(__file__).resolve().parents[2] / "perf/kill-check"
LIMIT_S = 200


def check(*options):
    # What it bounds is measured elsewhere: here a loaded machine may take its time.
    command = [SCRIPT, "--bin", os.environ["EXS_TOOLS"], "--seed", "1", "--limit", "30", *options]
    done = subprocess.run(command, capture_output=True, text=True, timeout=LIMIT_S, check=False)
    if "no namespaces here" in done.stderr:
        raise unittest.SkipTest(done.stderr)
    return done


class KillCheck(unittest.TestCase):
    def test_nothing_is_wrong(self):
        for provider in ("iwarp", "shm"):
            with self.subTest(provider=provider):
                done = check("--provider", provider, "--kills", "6")
                self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
                self.assertIn(f"the connections of the survivors: {provider}\n", done.stdout)
                self.assertGreater(int(re.search(r"(\d+) operations of survivors ended", done.stdout)[1]), 0)

    def test_a_peer_that_only_stops_is_found(self):
        done = check("--kills", "1", "--limit", "0.3", "--sabotage", "stop")
        self.assertEqual(done.returncode, 1, done.stdout + done.stderr)
        self.assertIn("have not ended 0.3 s after their client was killed", done.stderr)

    def test_what_is_left_behind_is_found(self):
        for sabotage, found in (("file", "/dev/shm/planted"), ("socket", "socket @planted"), ("process", r"process \d+")):
            with self.subTest(sabotage=sabotage):
                done = check("--kills", "1", "--sabotage", sabotage)
                self.assertEqual(done.returncode, 1, done.stdout + done.stderr)
                self.assertRegex(done.stderr, f"left behind: {found}\n")


if __name__ == "__main__":
    unittest.main()
