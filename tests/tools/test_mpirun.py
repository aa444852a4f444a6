# SPDX-License-Identifier: BSD-2-Clause
"""Jobs that mpirun of Open MPI starts: the processes find each other by PMIx. EXS_TOOLS is the folder of the programs, EXS_JOB_MEMBER
a process that does as its arguments say (job_member.cc), EXS_JOB_RANK a rank of a job (job_rank.c)."""
import os
import shutil
import subprocess
import unittest

from test_job import BIN, LIMIT_S, MEMBER

RANK = os.environ["EXS_JOB_RANK"]


def mpirun(size, *words, options=(), **environment):
    """timeout(1) ends what mpirun leaves, too."""
    command = ["timeout", "-k", "5", str(LIMIT_S), "mpirun", "--oversubscribe", "-n", str(size), *options, *words]
    as_root = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
    return subprocess.run(command, capture_output=True, text=True, timeout=2 * LIMIT_S, check=False, stdin=subprocess.DEVNULL,
                          env={**os.environ, **as_root, **environment})


@unittest.skipUnless(shutil.which("mpirun"), "needs mpirun of Open MPI (openmpi-bin)")
class Mpirun(unittest.TestCase):
    def test_ranks_pass_a_number_round(self):
        for provider in ("auto", "iwarp"):
            with self.subTest(provider=provider):
                done = mpirun(4, BIN / "ring", EXS_PROVIDER=provider)
                self.assertEqual((done.returncode, done.stdout), (0, "4 ranks; the number came from rank 3\n"), done.stderr)

    def test_each_gets_the_cards_of_all(self):
        done = mpirun(3, MEMBER, "card=a", "card=b", "leave")
        self.assertEqual(done.returncode, 0, done.stderr)
        expected = [f"{rank} cards {','.join(3 * [card])}" for rank in range(3) for card in "ab"]
        self.assertEqual(sorted(done.stdout.splitlines()), expected)

    def test_the_key_is_that_of_the_job_and_of_no_other(self):
        keys = [set(mpirun(2, MEMBER, "key", "leave").stdout.split()) - {"key"} for _ in range(2)]
        self.assertEqual([len(one) for one in keys], [1, 1])
        self.assertNotEqual(*keys)

    def test_abort_ends_all(self):
        done = mpirun(3, MEMBER, "card=x", "1:abort=7", "wait")
        self.assertEqual(done.returncode, 7, done.stderr)

    def test_a_death_ends_all(self):
        done = mpirun(3, MEMBER, "card=x", "1:kill=9", "wait")
        self.assertEqual(done.returncode, 128 + 9, done.stderr)

    def test_survivors_hear_of_a_death_by_their_connections(self):
        done = mpirun(4, RANK, "survive", options=["--enable-recovery"])
        self.assertEqual(sorted(done.stdout.splitlines()), ["0 survived", "2 survived", "3 survived"], done.stderr)

    def test_exs_run_has_the_first_word(self):
        done = mpirun(1, BIN / "exs-run", "-n", "3", BIN / "ring")
        self.assertEqual((done.returncode, done.stdout), (0, "3 ranks; the number came from rank 2\n"), done.stderr)


if __name__ == "__main__":
    unittest.main()
