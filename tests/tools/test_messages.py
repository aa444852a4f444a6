# SPDX-License-Identifier: BSD-2-Clause
"""Jobs of messages with tags under exs-run: a death among them, a flood, and many ranks. EXS_TOOLS is the folder of the
programs, EXS_JOB_RANK the rank of a job (job_rank.c), EXS_JOB_SIZE the size of a large one, EXS_JOB_FLOOD a number of messages, EXS_JOB_PEER_BYTES
what a rank may hold for each of those that it knows (0: whatever it is)."""
import os
import re
import signal
import subprocess
import tempfile
import unittest

from tools import BIN, LIMIT_S, ToolsTest, run

RANK = os.environ["EXS_JOB_RANK"]
SIZE = int(os.environ["EXS_JOB_SIZE"])
FLOOD = int(os.environ["EXS_JOB_FLOOD"])
PEER_BYTES = int(os.environ["EXS_JOB_PEER_BYTES"])
PROVIDERS = ("shm", "iwarp")


def job(size, *arguments, provider, options=()):
    return run("exs-run", "-n", str(size), *options, *arguments, EXS_PROVIDER=provider)


class Messages(ToolsTest):
    def test_the_survivors_of_a_death_hear_of_it_and_go_on(self):
        for provider in PROVIDERS:
            with self.subTest(provider=provider):
                done = job(4, RANK, "survive", provider=provider, options=("--keep-going",))
                self.assertEqual(sorted(done.stdout.splitlines()), ["0 survived", "2 survived", "3 survived"], done.stderr)
                self.assertEqual(done.returncode, 128 + signal.SIGKILL)

    def test_the_label_of_an_endpoint_is_that_of_its_connections(self):
        for provider in PROVIDERS:
            with self.subTest(provider=provider):
                done = job(2, RANK, "label", str(BIN / "exs-top"), provider=provider)
                self.assertEqual(done.returncode, 0, done.stderr)
                self.assertEqual(done.stdout.splitlines(), ['"label": "before",', '"label": "after",'])

    def test_a_flood_is_held_up_at_its_sender(self):
        for provider in PROVIDERS:
            with self.subTest(provider=provider), tempfile.TemporaryDirectory() as folder:
                count = FLOOD if provider == "shm" else FLOOD // 10  # each message is a READ, and by TCP ten times as slow
                done = job(2, RANK, "flood", str(count), f"{folder}/sent", provider=provider)
                self.assertEqual(done.returncode, 0, done.stderr)
                came, held, more_mib = map(int, re.findall(r"\d+", done.stdout))
                self.assertEqual(came, count)
                self.assertLessEqual(held, 1 << 20)
                self.assertLess(more_mib, 128)

    def test_a_peer_that_rests_takes_two_pages(self):
        for provider in PROVIDERS:
            with self.subTest(provider=provider):
                done = job(65 if PEER_BYTES else 9, RANK, "know", provider=provider)
                self.assertEqual(done.returncode, 0, done.stderr)
                found = int(re.fullmatch(r"(\d+) bytes a peer\n", done.stdout)[1])
                self.assertLessEqual(found, PEER_BYTES or found)

    @unittest.skipIf(os.geteuid() != 0, "only root makes a network of its own")
    def test_who_is_not_reached_is_named_with_the_cause(self):
        done = subprocess.run(["unshare", "-n", BIN / "exs-run", "-n", "2", BIN / "ring"], capture_output=True, text=True, timeout=LIMIT_S,
                              check=False)
        self.assertNotEqual(done.returncode, 0)
        self.assertRegex(done.stderr, r"rank \d is not reached: connecting to 127\.0\.0\.1:\d+: no route leads there; .*ip link set lo up")

    def test_many_ranks_pass_a_number_round(self):
        done = job(SIZE, BIN / "ring", provider="auto")
        self.assertEqual((done.returncode, done.stdout), (0, f"{SIZE} ranks; the number came from rank {SIZE - 1}\n"), done.stderr)


if __name__ == "__main__":
    unittest.main()
