# SPDX-License-Identifier: BSD-2-Clause
"""The network "exs": in clnt_create() and its kin, in svc_create(), in NETPATH, by getnetconfigent(); and what rpcbind and its clients
see of a server that has exs, which is nothing."""
import contextlib
import os
import subprocess
import tempfile
import time
import unittest

import namespaced
import peers

namespaced.enter()

PROGRAM = 0x20004D58
NOBODY = 9
CLIENT = "rpc-name-client"
FOUND = ["clnt_create: status 0 by {}", "clnt_create_timed: status 0 by {}", "clnt_create_vers: status 0 by {}", "version 1",
         "rpc_call: status 0", "entry: {}, inet, tcp, 3", "clnt_tp_create: status 0 by {}", "clnt_tp_create_timed: status 0 by {}"]
UNKNOWN = 17  # RPC_UNKNOWNPROTO


class Names(unittest.TestCase):
    @contextlib.contextmanager
    def server(self, way, network="tcp", **more):
        with peers.server(way, "-n", network, **more) as process:
            namespaced.await_listed(PROGRAM, "tcp")
            yield process
        subprocess.run([namespaced.RPCINFO, "-d", str(PROGRAM), "1"], check=True)

    def names(self, way, network, **more):
        done = peers.run(way, "127.0.0.1", network, program=CLIENT, **more)
        self.assertEqual(done.returncode, 0, done.stderr[-3000:])
        return done.stdout.splitlines()

    def test_client(self):
        for server in peers.WAYS:
            for client in peers.WAYS:
                if client == "old":
                    continue
                with self.subTest(server=server, client=client), self.server(server):
                    carrier = "tcp" if server == "old" else "exs"
                    told = self.names(client, "exs", NETPATH="exs")
                    expected = [line.format(carrier) for line in FOUND]
                    expected[5] = FOUND[5].format("tcp")
                    self.assertEqual(told[:8], expected)
                    self.assertEqual(told[-1], "clnt_create after these, by tcp: status 0 by tcp")

    def test_other_names(self):
        """Are what they were, also to a client that has exs."""
        for network in ("tcp", "udp", "udp6", "visible", "circuit_v", "local", "nonsense", ""):
            with self.server("old", "tcp"):
                expected = self.names("old", network, NETPATH="tcp", EXS_SUNRPC="auto")
            for way in peers.WAYS:
                with self.subTest(network, way=way), self.server(way, "tcp"):
                    self.assertEqual(self.names(way, network, NETPATH="tcp"), expected)

    def test_required(self):
        for way in peers.WAYS:
            if way == "old":
                continue
            with self.subTest(way):
                with self.server("old"):
                    told = self.names(way, "exs", EXS_SUNRPC="require")
                    self.assertEqual(told[0], f"clnt_create: none, status {UNKNOWN}")
                    self.assertEqual(told[-1], "clnt_create after these, by tcp: status 0 by tcp")
                with self.server(way):
                    self.assertEqual(self.names(way, "exs", EXS_SUNRPC="require")[0], "clnt_create: status 0 by exs")

    def test_server(self):
        """svc_create(.., "exs") is svc_create(.., "tcp")."""
        def play(way, network):
            with self.server(way, network) as process:
                return process.port, namespaced.listed(), self.names("old", "tcp")
        expected = play("old", "tcp")
        for way in peers.WAYS:
            if way != "old":
                self.assertEqual(play(way, "exs"), expected)
                self.assertEqual(play(way, "tcp"), expected)


class Neighbours(unittest.TestCase):
    def rpcinfo(self, *words):
        done = subprocess.run([namespaced.RPCINFO, *words], capture_output=True, text=True, timeout=peers.LIMIT_S, check=False)
        return done.returncode, done.stdout, done.stderr

    def test_list_and_rpcinfo(self):
        def play(way):
            with peers.server(way, "-n", "tcp") as process:
                namespaced.await_listed(PROGRAM, "tcp")
                told = [namespaced.listed()] + [self.rpcinfo(*words) for words in (
                    ("-T", "tcp", "127.0.0.1", str(PROGRAM)), ("-T", "tcp", "127.0.0.1", str(PROGRAM), "1"),
                    ("-T", "tcp", "127.0.0.1", str(PROGRAM), "2"), ("-t", "127.0.0.1", str(PROGRAM)), ("-s", "127.0.0.1"))]
                # A client with exs in between, after which all is as it was.
                if way != "old":
                    done = peers.run(way, "127.0.0.1", "exs", program=CLIENT)
                    self.assertIn("clnt_create: status 0 by exs", done.stdout)
                told.append(namespaced.listed())
                self.assertIsNone(process.poll())
            subprocess.run([namespaced.RPCINFO, "-d", str(PROGRAM), "1"], check=True)
            return told
        expected = play("old")
        self.assertEqual(expected[1][0], 0, expected)
        for way in peers.WAYS:
            self.assertEqual(play(way), expected)

    def test_wire_of_an_old_client(self):
        """SunRPC on TCP to one port, and nothing else."""
        for _ in range(5):
            port, packets = self.capture_old_client()
            if not any(lost for *_, lost in packets):  # in the capture, for TCP loses nothing
                break
        self.assertGreater(len(packets), 100)
        for protocols, ports, length, _, segment, *_ in packets:
            self.assertIn(port, ports.split(","))
            self.assertTrue(":tcp:rpc" in protocols or ":tcp" in protocols and (length == "0" or segment), (protocols, length, packets))
        called = {int(program) for packet in packets for program in packet[3].split(",") if program}
        self.assertEqual(called, {PROGRAM, 0x2FFFFFFF})  # the second one is what the client calls in vain

    def capture_old_client(self):
        """The server's port, and of each packet its protocols, ports, length, programs, segment, and whether others are missing."""
        with tempfile.NamedTemporaryFile(suffix=".pcap") as capture, peers.server(peers.NEW) as process:
            with subprocess.Popen(["tshark", "-B", "64", "-i", "lo", "-w", capture.name, "-q"], stderr=subprocess.PIPE, text=True) as tshark:
                while "Capturing on" not in (line := tshark.stderr.readline()):
                    self.assertNotEqual(line, "", "tshark does not capture")
                self.await_capture(capture.name)
                done = peers.run("old", process.port)
                tshark.terminate()
                tshark.stderr.read()
            self.assertEqual(done.returncode, 0, done.stderr)
            fields = ("frame.protocols", "tcp.port", "tcp.len", "rpc.program", "tcp.segment_data", "tcp.analysis.lost_segment",
                      "tcp.analysis.ack_lost_segment")
            read = subprocess.run(["tshark", "-r", capture.name, "-Y", f"not tcp.port=={NOBODY}", "-d", f"tcp.port=={process.port},rpc",
                                   "-o", "rpc.dissect_unknown_programs:TRUE", "-o", "rpc.defragment_rpc_over_tcp:TRUE",
                                   "-o", "tcp.reassemble_out_of_order:TRUE", "-T", "fields",
                                   *(word for field in fields for word in ("-e", field))], capture_output=True, text=True, check=True)
        rows = [line.split("\t") for line in read.stdout.splitlines()]
        return process.port, [(*row[:5], row[5] or row[6]) for row in rows]

    def await_capture(self, name):
        """tshark says that it captures before it does; nobody listens at this port."""
        end = time.monotonic() + peers.LIMIT_S
        while os.path.getsize(name) < 4000:
            namespaced.answers(NOBODY)
            self.assertLess(time.monotonic(), end, "nothing is captured")


if __name__ == "__main__":
    namespaced.prepare()
    namespaced.start_rpcbind()
    unittest.main()
