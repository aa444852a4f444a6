# SPDX-License-Identifier: BSD-2-Clause
"""Clients and servers that rpcgen has made whole, in each of its styles, found by rpcbind: what clients print is the same."""
import subprocess
import unittest

import namespaced
import peers

namespaced.enter()

PROGRAM = 0x20005354


class Styles(unittest.TestCase):
    def play(self, style, server, client, network):
        before = namespaced.listed()
        with subprocess.Popen(peers.command(f"rpc-style-{style}-server", server), env=peers.environment(server),
                              stderr=subprocess.DEVNULL) as process:
            try:
                namespaced.await_listed(PROGRAM, "tcp")
                done = peers.run(client, "127.0.0.1", network, program=f"rpc-style-{style}-client")
                self.assertIsNone(process.poll())
            finally:
                process.kill()
        subprocess.run([namespaced.RPCINFO, "-d", str(PROGRAM), "1"], check=True)
        self.assertEqual(namespaced.listed(), before)
        self.assertEqual(done.returncode, 0, done.stderr[-3000:])
        return done.stdout, peers.has_connected(done.stderr)

    def test_styles(self):
        for style in "CNMb":
            expected, _ = self.play(style, "old", "old", "tcp")
            self.assertIn("9 + 9000: 0, 9009", expected)
            for server in peers.WAYS:
                for client in peers.WAYS:
                    with self.subTest(style, server=server, client=client):
                        found, is_by_exs = self.play(style, server, client, "tcp")
                        self.assertEqual(found, expected)
                        self.assertEqual(is_by_exs, peers.goes_by_exs(server, client))


if __name__ == "__main__":
    namespaced.prepare()
    namespaced.start_rpcbind()
    unittest.main()
