# SPDX-License-Identifier: BSD-2-Clause
"""What exs-explain says of a machine: each thing that may be missing is taken away for real and must be found."""
import errno
import json
import os
import signal
import socket
import subprocess
import threading
import unittest

from tools import BIN, LIMIT_S, ToolsTest, Watched, run

FACTS = ["host", "user", "network_namespace", "pid_namespace", "descriptors", "seccomp", "io_uring", "tcp_sockets",
         "unix_sockets", "memfd", "dev_shm", "ptrace_scope", "process_vm_readv", "memlock", "rdma"]
NOBODY = "65534"
CANNOT = 77  # of test-confined: not with the rights of this user


class Machine(ToolsTest):
    def look(self, *restrictions):
        """(machine, exit status) as seen by a process with these restrictions, each a tuple of words."""
        words = [word for restriction in restrictions for word in restriction]
        # Where a process may not be traced the leak checker fails, whatever it would find.
        done = run("test-confined", *words, "--", BIN / "exs-explain", "--json", ASAN_OPTIONS="detect_leaks=0")
        if done.returncode in (CANNOT, 126):
            self.skipTest(f"needs root, or a place that others may read: {words}")
        self.assertIn(done.returncode, (0, 1), done.stderr)
        found = json.loads(done.stdout)
        self.assertEqual(found["well"], done.returncode == 0)
        self.assertEqual(found["well"], bool(found["working"]))
        lacking = {name for fact in found["machine"].values() if fact["verdict"] == "missing" for name in fact["concerns"]}
        self.assertEqual(found["working"], [name for name in found["providers"] if name not in lacking])
        return found["machine"], done.returncode

    def assert_reason(self, fact, verdict, reason, *parts):
        self.assertEqual((fact["verdict"], fact["reason"]), (verdict, reason))
        self.assertGreater(len(fact["cure"]), 10)
        self.assertGreater(fact["code"], 0)
        for part in parts:
            self.assertIn(part, fact["text"])

    def test_every_fact_is_there(self):
        machine, _ = self.look()
        self.assertEqual(list(machine), FACTS)
        for name, fact in machine.items():
            with self.subTest(fact=name):
                self.assertIn(fact["verdict"], ("ok", "limited", "missing"))
                self.assertTrue(fact["text"])
                self.assertEqual("cure" in fact, fact["verdict"] != "ok")

    def test_text_has_a_line_for_each_fact_and_the_cures(self):
        done = run("test-confined", "limit", "nofile", "200", "--", BIN / "exs-explain")
        lines = done.stdout.splitlines()
        self.assertRegex(lines[0], r"^exs \d+\.\d+\.\d+, providers: ")
        self.assertEqual([line.split()[0] for line in lines[1:] if not line.startswith(" ")], FACTS)
        place = next(i for i, line in enumerate(lines) if line.startswith("descriptors"))
        self.assertIn("limited", lines[place])
        self.assertRegex(lines[place + 1], r"^ +cure: ulimit -n ")

    def test_io_uring_refused(self):
        for call in ("io_uring_setup", "io_uring_enter"):
            for error in (errno.EPERM, errno.ENOSYS, 0):
                with self.subTest(call=call, error=error):
                    machine, status = self.look(("deny", call, str(error)))
                    self.assert_reason(machine["io_uring"], "limited", "no-io-uring", "epoll", "seccomp")
                    self.assertIs(machine["seccomp"]["filtered"], True)
                    self.assertEqual(status, 0)  # iwarp works without

    def test_process_vm_readv_refused(self):
        for error in (errno.EPERM, errno.ENOSYS, 0):
            with self.subTest(error=error):
                machine, _ = self.look(("deny", "process_vm_readv", str(error)))
                self.assert_reason(machine["process_vm_readv"], "limited", "no-ptrace")
                self.assertIs(machine["process_vm_readv"]["other_process"], False)
                self.assertIs(machine["process_vm_readv"]["child_process"], False)

    def test_memfd_refused(self):
        machine, status = self.look(("deny", "memfd_create", str(errno.EPERM)))
        self.assert_reason(machine["memfd"], "missing", "no-memfd", "Operation not permitted")
        self.assertEqual(status, 0)  # iwarp works without

    def test_tcp_sockets_refused(self):
        machine, status = self.look(("deny", "tcp_socket", str(errno.EAFNOSUPPORT)))
        self.assert_reason(machine["tcp_sockets"], "missing", "failed", "Address family not supported")
        self.assertEqual(status, 1)  # every connection begins with one

    def test_unix_sockets_refused(self):
        machine, _ = self.look(("deny", "unix_socket", str(errno.EAFNOSUPPORT)))
        self.assert_reason(machine["unix_sockets"], "missing", "no-unix-socket", "Address family not supported")

    def test_few_descriptors(self):
        machine, _ = self.look(("limit", "nofile", "200"))
        self.assert_reason(machine["descriptors"], "limited", "no-descriptors", "200")
        self.assertEqual(machine["descriptors"]["soft_limit"], 200)

    def test_little_memory_may_be_pinned(self):
        # Root may pin whatever the limit is.
        machine, _ = self.look(("limit", "memlock", "65536"), ("user", NOBODY))
        self.assert_reason(machine["memlock"], "limited", "memlock", "64 KiB")
        self.assertEqual((machine["memlock"]["soft_limit_bytes"], machine["memlock"]["allowed"]), (65536, False))

    def test_rdma_port_down(self):
        machine, status = self.look(("rdma_port", "1: DOWN", "666"))
        self.assert_reason(machine["rdma"], "missing", "port-down", "card0 port 1 is DOWN")
        self.assertEqual(status, 0)  # the others work without
        card, = machine["rdma"]["devices"]
        self.assertEqual((card["reason"], card["ports"][0]["state"]), ("port-down", "DOWN"))
        self.assertIn("ip link set", card["cure"])

    def test_rdma_port_up(self):
        machine, _ = self.look(("rdma_port", "4: ACTIVE", "666"))
        self.assertEqual(machine["rdma"]["verdict"], "ok")
        card, = machine["rdma"]["devices"]
        port, = card.pop("ports")
        self.assertEqual(card, {"device": "card0", "node_type": "CA", "transport": "RoCE"})
        interface, = port.pop("interfaces")
        self.assertEqual(port, {"port": 1, "state": "ACTIVE", "physical_state": "LinkUp", "link_layer": "Ethernet",
                                "rate": "100 Gb/sec (4X EDR)"})
        self.assertEqual((interface["name"], interface["up"]), ("lo", True))
        self.assertIn("127.0.0.1", interface["addresses"])

    def test_rdma_device_in_text(self):
        done = run("test-confined", "rdma_port", "4: ACTIVE", "666", "--", BIN / "exs-explain")
        if done.returncode == CANNOT:
            self.skipTest("needs root")
        self.assertRegex(done.stdout, r"(?m)^rdma +ok +1 of 1 devices can be used \[verbs\]$")
        self.assertRegex(done.stdout, r"(?m)^ +card0 port 1: RoCE, ACTIVE, 100 Gb/sec \(4X EDR\), lo 127\.0\.0\.1( |$)")

    def test_rdma_device_closed_to_this_user(self):
        machine, status = self.look(("rdma_port", "4: ACTIVE", "600"), ("user", NOBODY))
        self.assert_reason(machine["rdma"], "missing", "no-access", "/dev/infiniband/uverbs0: Permission denied")
        self.assertEqual(status, 0)

    def test_no_rdma_device(self):
        machine, status = self.look()
        if machine["rdma"]["verdict"] == "ok" or machine["rdma"]["reason"] != "no-device":
            self.skipTest("this machine has an RDMA device")
        self.assert_reason(machine["rdma"], "missing", "no-device", "no device")
        self.assertEqual(status, 0)  # the others work without

    def test_user_and_namespaces(self):
        here, _ = self.look()
        there, _ = self.look(("netns",), ("pidns",), ("user", NOBODY))
        self.assertEqual(there["user"]["user_id"], int(NOBODY))
        for name in ("network_namespace", "pid_namespace"):
            self.assertNotEqual(here[name]["inode"], there[name]["inode"], name)
        self.assertEqual(here["host"]["boot_id"], there["host"]["boot_id"])


class OtherProtocol:
    """A server that answers each connection with a line of its own, and closes it. Gives its port."""

    def __enter__(self):
        self.listening = socket.create_server(("127.0.0.1", 0))
        self.thread = threading.Thread(target=self.serve)
        self.thread.start()
        return str(self.listening.getsockname()[1])

    def serve(self):
        while True:
            try:
                connection = self.listening.accept()[0]
            except OSError:  # it was shut down
                return
            with connection:
                connection.recv(4096)
                connection.sendall(b"HTTP/1.0 400 Bad request\r\n\r\n")

    def __exit__(self, *_):
        self.listening.shutdown(socket.SHUT_RDWR)
        self.thread.join()
        self.listening.close()


class Settings(ToolsTest):
    def test_every_tool_takes_the_provider_of_the_environment(self):
        for command in (["exs-ping", "--self", "--time", "0.01", "--kind", "immediate"], ["exs-blast", "--self", "--time", "0.01"],
                        ["exs-crowd", "--connections", "2", "--rounds", "1"]):
            for wish, found in (("iwarp", "iwarp"), ("", "shm"), ("forbid:iwarp", "shm")):
                with self.subTest(command=command, wish=wish):
                    done = run(*command, "--json", EXS_PROVIDER=wish)
                    self.assertEqual(done.returncode, 0, done.stderr)
                    self.assertEqual(json.loads(done.stdout)["provider"], found)
        # The option has the last word.
        done = run("exs-ping", "--self", "--time", "0.01", "--kind", "immediate", "--provider", "shm", "--json", EXS_PROVIDER="iwarp")
        self.assertEqual(json.loads(done.stdout)["provider"], "shm")

    def test_empty_settings_are_as_none(self):
        done = run("exs-explain", EXS_PROVIDER="", EXS_SHARDS="", EXS_IWARP_BACKEND="", EXS_SHM_USERS="", EXS_LOG="", EXS_EXPLAIN="")
        self.assertEqual((done.returncode, done.stderr), (0, ""))

    def test_a_misspelt_setting_is_told(self):
        for options in ([], ["--sockets"]):
            done = run("exs-explain", *options, EXS_PROVIDR="iwarp")
            self.assert_one_line(done.stderr, "EXS_PROVIDR is no setting of exs", "the nearest is EXS_PROVIDER")


class Connection(ToolsTest):
    KEYS = {"tool": str, "version": str, "schema": int, "target": str, "address": str, "connected": bool, "error": str,
            "errno": int, "provider": str, "connect_seconds": float}
    REASON = {"provider": str, "verdict": str, "code": int, "reason": str, "told_by_peer": bool, "fact": str, "cure": str}

    def explain(self, *arguments):
        server = self.start_server("exs-ping")
        return run("exs-explain", f"127.0.0.1:{server.port}", *arguments)

    def test_a_connection_tells_of_each_provider(self):
        done = self.explain("--json")
        self.assertEqual(done.returncode, 0, done.stderr)
        found = json.loads(done.stdout)
        for key, kind in self.KEYS.items():
            self.assertIsInstance(found[key], kind, key)
        for reason in found["reasons"]:
            self.assertEqual({key: type(value) for key, value in reason.items()}, self.REASON)
        self.assertEqual((found["connected"], found["errno"], found["error"]), (True, 0, ""))
        used = [reason["provider"] for reason in found["reasons"] if reason["verdict"] == "used"]
        self.assertEqual(used, [found["provider"]])
        self.assertLessEqual(set(json.loads(run("exs-explain", "--json").stdout)["providers"]),
                             {reason["provider"] for reason in found["reasons"]})

    def test_a_wish_is_followed(self):
        done = self.explain("--provider", "require:iwarp")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertRegex(done.stdout, r"^127\.0\.0\.1:\d+: connected in [\d.]+ ms, carried by iwarp\n")
        self.assertRegex(done.stdout, r"\niwarp +used\n")

    def test_a_wish_that_makes_no_sense(self):
        done = run("exs-explain", "127.0.0.1:1", "--provider", "carrier-pigeon")
        self.assertEqual(done.returncode, 1)
        self.assertIn("carrier-pigeon", done.stderr)

    def test_environment_explains_every_connection(self):
        server = self.start_server("exs-ping")
        done = subprocess.run([BIN / "exs-explain", f"127.0.0.1:{server.port}"], capture_output=True, text=True, timeout=LIMIT_S,
                              env={"EXS_EXPLAIN": "1", "EXS_IWARP_BACKEND": "epoll", "EXS_PROVIDER": "iwarp"}, check=False)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertRegex(done.stderr, r"(?m)^exs: socket \d+ to 127\.0\.0\.1:\d+: connected$")
        self.assertRegex(done.stderr, r"(?m)^exs:   iwarp    used$")
        self.assertRegex(done.stderr, r"(?m)^exs:   iwarp    limited  epoll-chosen: EXS_IWARP_BACKEND=epoll$")
        self.assertRegex(done.stderr, r"(?m)^exs: +cure: unset EXS_IWARP_BACKEND$")

    def test_nobody_listens(self):
        done = run("exs-explain", "127.0.0.1:1")
        self.assertEqual(done.returncode, 1)
        self.assertIn("127.0.0.1:1: no connection: Connection refused", done.stdout)
        self.assertIn("start the server", done.stdout)
        self.assertNotIn("driver", done.stdout)  # of no RDMA device

    def test_a_silent_server_is_not_waited_for(self):
        with socket.create_server(("127.0.0.1", 0)) as silent:
            done = run("exs-explain", f"127.0.0.1:{silent.getsockname()[1]}", "--timeout", "0.2", "--json")
        self.assertEqual(done.returncode, 1)
        found = json.loads(done.stdout)
        self.assertEqual((found["connected"], found["errno"]), (False, errno.ETIMEDOUT))

    def test_a_long_connect_shows_itself_on_a_terminal_and_a_signal_ends_it(self):
        with socket.create_server(("127.0.0.1", 0)) as silent:
            address = f"127.0.0.1:{silent.getsockname()[1]}"
            for options in ((), ("--json",)):
                client = Watched("exs-explain", address, "--timeout", "3000", *options)
                self.addCleanup(client.kill)
                client.wait_for_progress(b" s of 3000 s, not connected yet")
                client.process.send_signal(signal.SIGINT)
                output, errors, status = client.finish()
                self.assertEqual((status, errors), (130, ""))
                if options:
                    found = json.loads(output)
                    self.assertEqual((found["connected"], found["errno"]), (False, errno.EINTR))
                    self.assertGreater(found["connect_seconds"], 1)
                else:
                    self.assertRegex(output, rf"^{address}: no connection after \d+\.\d\d s, interrupted\n")

    def test_a_server_of_another_protocol_is_no_want_of_a_driver(self):
        with OtherProtocol() as port:
            told = [run("exs-explain", f"127.0.0.1:{port}").stdout, run("exs-ping", "127.0.0.1", "-p", port).stderr]
            found = json.loads(run("exs-explain", f"127.0.0.1:{port}", "--json").stdout)
        for text in told:
            self.assertIn("of an exs server", text)
            self.assertNotIn("driver", text)
        self.assertIn("of an exs server", found["error_text"])

    def test_a_want_of_a_provider_is_told_with_its_cure(self):
        done = run("exs-ping", "127.0.0.1", "-p", "1", "--provider", "require:verbs", EXS_LOG="error")
        if "is the server running" in done.stderr:
            self.skipTest("this machine has an RDMA device")
        self.assert_one_line(done.stderr, "; verbs: ", "(cure: ")

    def test_a_link_local_address_needs_its_interface(self):
        for command in (["exs-ping", "fe80::1", "-p", "7999"], ["exs-explain", "[fe80::1]:7999"]):
            done = run(*command)
            self.assertEqual(done.returncode, 1)
            self.assert_one_line(done.stderr, "is link-local", "fe80::1%eth0")

    @unittest.skipIf(os.geteuid() != 0, "only root makes a network of its own")
    def test_no_way_there_is_not_a_server_that_is_not_started(self):
        done = subprocess.run(["unshare", "-n", BIN / "exs-explain", "127.0.0.1:7"], capture_output=True, text=True, timeout=LIMIT_S,
                              check=False)
        self.assertIn("no route leads there", done.stdout)
        self.assertNotIn("start the server", done.stdout)

    def test_the_log_tells_the_way_of_a_connect(self):
        server = self.start_server("exs-ping")
        done = run("exs-explain", f"127.0.0.1:{server.port}", EXS_LOG="debug", EXS_PROVIDER="iwarp")
        self.assertRegex(done.stderr, r"(?m)^[-\d]+ [:.\d]+ exs debug: socket \d+ to 127\.0\.0\.1:\d+: connected$")
        self.assertRegex(done.stderr, r"(?m) exs debug: socket \d+ to 127\.0\.0\.1:\d+: iwarp used$")
        self.assertRegex(done.stderr, r"(?m) exs debug: socket \d+ to 127\.0\.0\.1:\d+: shm refused: forbidden: by .*; cure: change EXS_PROVIDER")
        self.assertNotIn("exs:", done.stderr)  # of EXS_EXPLAIN
        self.assertEqual(run("exs-explain", f"127.0.0.1:{server.port}").stderr, "")

    def test_a_host_without_an_address(self):
        done = run("exs-explain", "no.such.host.invalid:7")
        self.assertEqual(done.returncode, 1)
        self.assert_one_line(done.stderr, "exs-explain: ", "no.such.host.invalid")


if __name__ == "__main__":
    unittest.main()
