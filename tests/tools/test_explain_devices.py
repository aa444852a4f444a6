# SPDX-License-Identifier: BSD-2-Clause
"""What exs-explain says of real RDMA drivers: to be run where there are an rxe and a siw device (tests/rig/run both)."""
import json
import os
import subprocess
import unittest

from tools import BIN, ToolsTest, run

NOBODY = "65534"
DEVICES = {"rxe0": ("RoCE", "CA", "d1", os.environ.get("EXS_TEST_RXE_ADDRESS")),
           "siw0": ("iWARP", "RNIC", "d2", os.environ.get("EXS_TEST_SIW_ADDRESS"))}


def set_interface(name, state):
    subprocess.run(["ip", "link", "set", name, state], check=True)


class Devices(ToolsTest):
    def look(self, *restrictions):
        done = run("test-confined", *restrictions, "--", BIN / "exs-explain", "--json", ASAN_OPTIONS="detect_leaks=0")
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        found = json.loads(done.stdout)
        return found["machine"], found["working"]

    def set_down(self, name):
        self.addCleanup(set_interface, name, "up")
        set_interface(name, "down")

    def test_devices_that_work(self):
        machine, working = self.look()
        self.assertEqual(machine["rdma"]["verdict"], "ok")
        self.assertIn("verbs", working)
        devices = {device["device"]: device for device in machine["rdma"]["devices"]}
        self.assertEqual(set(devices), set(DEVICES))
        for name, (transport, node_type, interface_name, address) in DEVICES.items():
            with self.subTest(device=name):
                device = devices[name]
                self.assertEqual((device["transport"], device["node_type"]), (transport, node_type))
                self.assertNotIn("reason", device)
                port, = device["ports"]
                self.assertEqual((port["port"], port["state"], port["link_layer"]), (1, "ACTIVE", "Ethernet"))
                self.assertRegex(port["rate"], r"^[\d.]+ Gb/sec")
                interface, = port["interfaces"]
                self.assertEqual((interface["name"], interface["up"]), (interface_name, True))
                self.assertIn(address, interface["addresses"])

    def test_text(self):
        done = run("exs-explain")
        self.assertRegex(done.stdout, r"(?m)^rdma +ok +2 of 2 devices can be used \[verbs\]$")
        self.assertRegex(done.stdout, r"(?m)^ +rxe0 port 1: RoCE, ACTIVE, [\d.]+ Gb/sec [^,]*, d1 10\.9\.1\.1")
        self.assertRegex(done.stdout, r"(?m)^ +siw0 port 1: iWARP, ACTIVE, [\d.]+ Gb/sec [^,]*, d2 10\.9\.2\.1")

    def test_one_interface_is_down(self):
        for name, (_, _, interface_name, _) in DEVICES.items():
            with self.subTest(device=name):
                self.set_down(interface_name)
                machine, working = self.look()
                self.assertIn("verbs", working)
                self.assertIn("1 of 2 devices", machine["rdma"]["text"])
                down, = [device for device in machine["rdma"]["devices"] if "reason" in device]
                self.assertEqual((down["device"], down["reason"]), (name, "port-down"))
                self.assertIn(f"ip link set {interface_name} up", down["fact"])
                self.assertIs(down["ports"][0]["interfaces"][0]["up"], False)
                set_interface(interface_name, "up")

    def test_all_interfaces_are_down(self):
        self.set_down("d1")
        self.set_down("d2")
        machine, working = self.look()
        self.assertEqual((machine["rdma"]["verdict"], machine["rdma"]["reason"]), ("missing", "port-down"))
        self.assertIn("ip link set d1 up", machine["rdma"]["text"])
        self.assertEqual(working, ["iwarp", "shm"])
        set_interface("d1", "up")
        machine, working = self.look()
        self.assertEqual(machine["rdma"]["verdict"], "ok")
        self.assertIn("verbs", working)

    def test_a_user_who_may_pin_little(self):
        for name in os.listdir("/dev/infiniband"):
            os.chmod(f"/dev/infiniband/{name}", 0o666)  # what udev does elsewhere
        machine, _ = self.look("limit", "memlock", "65536", "user", NOBODY)
        self.assertEqual(machine["rdma"]["verdict"], "ok")
        self.assertEqual((machine["memlock"]["verdict"], machine["memlock"]["reason"]), ("limited", "memlock"))
        self.assertIn("64 KiB", machine["memlock"]["text"])

    def test_a_user_who_may_open_none(self):
        for name in os.listdir("/dev/infiniband"):
            os.chmod(f"/dev/infiniband/{name}", 0o600)
        machine, working = self.look("user", NOBODY)
        self.assertEqual((machine["rdma"]["verdict"], machine["rdma"]["reason"]), ("missing", "no-access"))
        self.assertEqual(working, ["iwarp", "shm"])

    def test_devices_go(self):
        for name in DEVICES:
            subprocess.run(["rdma", "link", "delete", name], check=True)
        self.addCleanup(subprocess.run, ["rdma", "link", "add", "rxe0", "type", "rxe", "netdev", "d1"], check=True)
        self.addCleanup(subprocess.run, ["rdma", "link", "add", "siw0", "type", "siw", "netdev", "d2"], check=True)
        machine, _ = self.look()
        self.assertEqual((machine["rdma"]["verdict"], machine["rdma"]["reason"]), ("missing", "no-device"))
        self.assertIn("the kernel module ib_core is there", machine["rdma"]["text"])


if __name__ == "__main__":
    unittest.main()
