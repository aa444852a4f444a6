#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""The kernels compute what is known to be right, on one device of MPJ Express, and say so in one object of JSON.
EXS_MPJ_DEVICE and EXS_MPJ_KERNELS name the device and the archive."""
import json
import os
import pathlib
import subprocess
import unittest

LAUNCH = pathlib.Path(__file__).resolve().parents[3] / 'bindings/java/mpj/launch'
DEVICE = os.environ['EXS_MPJ_DEVICE']
KERNELS = os.environ['EXS_MPJ_KERNELS']
TIME = {'time_s'}
NPB = TIME | {'rate_mops'}
KEYS = {'cg': NPB | {'zeta', 'zeta_expected', 'residual'}, 'ft': NPB | {'checksum_real', 'checksum_imaginary'},
        'is': NPB | {'tests_passed', 'sorted'}, 'mg': NPB | {'residual', 'residual_expected'},
        'nbody': TIME | {'rate_minteractions_per_s', 'bodies', 'steps', 'energy_drift', 'momentum', 'positions_checksum',
                         'positions_checksum_expected'},
        'collectives': {'operations'}, 'pingpong': {'lengths'}}


def run(ranks, *arguments):
    command = [LAUNCH, '--device', DEVICE, '-np', str(ranks), '--limit', '100', '--cp', KERNELS, 'exs.mpj.kernels.Main', *arguments]
    return subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, check=False, timeout=120)


class Kernels(unittest.TestCase):
    def verify(self, kernel, ranks):
        done = run(ranks, kernel, '--class', 'S', '--json')
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        report = json.loads(done.stdout)
        self.assertTrue(report['verified'])
        self.assertEqual((report['kernel'], report['class'], report['ranks'], report['device']), (kernel, 'S', ranks, DEVICE))
        self.assertEqual(set(report), {'kernel', 'class', 'ranks', 'verified', 'device'} | KEYS[kernel])

    def test_wrong_arguments_are_told(self):
        for arguments in (['no-such-kernel'], ['cg', '--class', 'Z']):
            done = run(2, *arguments)
            self.assertEqual(done.returncode, 2, done.stdout + done.stderr)
            self.assertIn('kernels: ', done.stderr + done.stdout)

    def test_bodies_move_the_same_on_an_odd_number_of_ranks(self):
        self.verify('nbody', 3)

    def test_a_number_of_ranks_that_a_kernel_cannot_have_is_told(self):
        done = run(3, 'ft')
        self.assertEqual(done.returncode, 2, done.stdout + done.stderr)


for name in KEYS:
    setattr(Kernels, f'test_{name}_is_right_on_four_ranks', lambda self, name=name: self.verify(name, 4))

if __name__ == '__main__':
    unittest.main()
