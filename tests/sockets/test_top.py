# SPDX-License-Identifier: BSD-2-Clause
"""exs-top on programs with libexs_sockets.so: their lanes show beside the connections of exs. EXS_SOCKETS_LIBRARY is the library,
EXS_TOOLS the folder of the programs."""
import json
import os
import pathlib
import re
import subprocess
import unittest

from test_explain import LIMIT_S, SocketsTest, explain

TOP = pathlib.Path(os.environ["EXS_TOOLS"], "exs-top")


def top(*words):
    done = subprocess.run([TOP, *map(str, words)], capture_output=True, text=True, timeout=LIMIT_S, check=False)
    if done.returncode != 0 or done.stderr:
        raise AssertionError(f"status {done.returncode}: {done.stdout}{done.stderr}")
    return done.stdout


def process_of(program):
    (process,) = json.loads(top("--json", "-p", program.pid))["processes"]
    return process


def connection_of(program):
    (connection,) = process_of(program)["connections"]
    return connection


class Lanes(SocketsTest):
    def test_a_lane_shows_as_exs_explain_has_it(self):
        client, server = self.two_ends()
        process = process_of(server)
        self.assertEqual((process["library_version"], process["since"], process["errors"]), (None, None, []))
        for program, own, peer in (client, "getsockname", "getpeername"), (server, "getsockname", "getpeername"):
            connection = connection_of(program)
            self.assertEqual({name: connection[name] for name in ("socket", "kind", "label", "state", "provider", "opened")},
                             {"socket": program.do("result = own.fileno()"), "kind": "stream", "label": "sockets",
                              "state": "connected", "provider": "ring", "opened": None})
            self.assertNotIn("refused", connection)
            for name, call in ("local", own), ("peer", peer):
                self.assertEqual(connection[name], program.do(f'result = "%s:%d" % own.{call}()'))
            (explained,) = json.loads(explain(program.pid, "--json"))["processes"][0]["connections"]
            lane = connection["lane"]
            self.assertEqual({name: explained[name] for name in lane}, lane)
            counters = connection["counters"]
            self.assertEqual((counters["sends"], counters["receives"]), (None, None))
            self.assertEqual(counters["sent_bytes"], lane["ring_sent_bytes"] + lane["tcp_sent_bytes"])
            self.assertEqual(counters["received_bytes"], lane["ring_received_bytes"] + lane["tcp_received_bytes"])
            self.assertEqual((counters["sent_bytes"], counters["received_bytes"]), (2000, 2000))
        line = top("--once", "-p", client.pid).splitlines()[2]
        self.assertRegex(line, r" connected  sockets  ring +127\.0\.0\.1:\d+ +2\.00 k  2\.00 k +-  +-  +0\.0$")

    def test_tcp_has_a_reason(self):
        client, plain = self.start(), self.start(None)
        self.connect(client, plain)
        self.exchange(client, plain)
        connection = connection_of(client)
        self.assertEqual((connection["provider"], connection["refused"]["provider"]), ("tcp", "ring"))
        (explained,) = json.loads(explain(client.pid, "--json"))["processes"][0]["connections"]
        self.assertEqual(explained["reason"], "peer-not-preloaded")
        self.assertEqual({name: connection["refused"][name] for name in ("reason", "fact", "cure")},
                         {name: explained[name] for name in ("reason", "fact", "cure")})
        self.assertRegex(top("--metrics"), r'exs_slower_connections\{program="[^"]*",faster="ring",reason="[a-z-]+"\} 1\n')

    def test_lanes_come_and_go(self):
        client, server = self.two_ends()
        watching = subprocess.Popen([TOP, "-p", str(server.pid)], stdout=subprocess.PIPE, text=True)
        self.addCleanup(watching.communicate)
        self.addCleanup(watching.kill)

        def until(connections):
            for line in watching.stdout:
                if found := re.match(r"1 processes, (\d+) connections: ", line):
                    if int(found[1]) == connections:
                        return
            self.fail(f"exs-top ended before it had shown {connections} connections")

        until(1)
        client.do("more = socket.create_connection(own.getpeername())")
        server.do("more = listener.accept()[0]")
        client.do("more.sendall(bytes(100))")
        server.do("result = len(more.recv(100, socket.MSG_WAITALL))")
        until(2)
        server.do("more.close()")
        until(1)

    def test_a_damaged_family_is_no_family(self):
        client, _ = self.two_ends()
        client.do("""fd = next(int(number) for number in os.listdir("/proc/self/fd") if os.path.exists(f"/proc/self/fd/{number}") """
                  """and "exs-sockets-family" in os.readlink(f"/proc/self/fd/{number}")); os.pwrite(fd, bytes(8), 0)""")
        done = subprocess.run([TOP, "--once", "-p", str(client.pid)], capture_output=True, text=True, timeout=LIMIT_S, check=False)
        self.assertEqual(done.returncode, 1)
        self.assertIn(f"process {client.pid} does not use exs", done.stderr)


if __name__ == "__main__":
    unittest.main()
