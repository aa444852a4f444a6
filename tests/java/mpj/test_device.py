#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""What exsdev promises beyond MPJ Express's own programs, with the JVM's checks of native calls, and how its launcher fails.
EXS_MPJRUN and EXS_MPJ_CHECKS name the launcher and the archive of DeviceCheck."""
import os
import subprocess
import unittest

MPJRUN = os.environ['EXS_MPJRUN']
CHECKS = os.environ['EXS_MPJ_CHECKS']
CASES = ['data arrives wherever the buffer begins', 'objects of many receives are not swapped', 'peek gives each request once',
         'a probe tells tag and bytes', 'what is probed is fetched', 'a receive that nothing matches is cancelled', 'iwaitany ends',
         'MPI starts again']


def run(*arguments):
    return subprocess.run([MPJRUN, *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE, stdin=subprocess.DEVNULL, text=True,
                          check=False, timeout=100)


class Device(unittest.TestCase):
    def check(self, *options):
        done = run('-np', '2', '--cp', CHECKS, *options, 'DeviceCheck')
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertEqual(done.stdout.splitlines(), CASES)
        return done

    def test_the_device_holds_what_it_promises(self):
        self.check()

    def test_it_does_so_under_the_checks_of_the_jvm(self):
        done = self.check('-J', '-Xcheck:jni')
        self.assertNotIn('FATAL', done.stdout + done.stderr)

    def test_a_program_that_is_not_there_is_told(self):
        self.assertNotEqual(run('-np', '2', 'NoSuchProgram').returncode, 0)

    def test_wrong_arguments_are_told(self):
        for arguments in ([], ['-np', '0', 'X'], ['-np', '2'], ['--what', 'X']):
            done = run(*arguments)
            self.assertEqual(done.returncode, 2)
            self.assertIn('exs-mpjrun -np N', done.stderr)


if __name__ == '__main__':
    unittest.main()
