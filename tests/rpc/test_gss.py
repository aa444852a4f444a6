# SPDX-License-Identifier: BSD-2-Clause
"""RPCSEC_GSS with Kerberos, in its three services: calls by exs tell what calls by TCP tell. The tickets are given by a KDC of the test's
own."""
import os
import pathlib
import shutil
import subprocess
import sys
import time
import unittest

import namespaced
import peers

namespaced.enter()

FOLDER = pathlib.Path("/run/kerberos")
CONFIGURATION = f"""[libdefaults]
 default_realm = TEST
 dns_lookup_kdc = false
 dns_lookup_realm = false
 dns_canonicalize_hostname = false
 rdns = false
[realms]
 TEST = {{
  kdc = 127.0.0.1:7088
  database_name = {FOLDER}/principals
  key_stash_file = {FOLDER}/stash
 }}
[domain_realm]
 localhost = TEST
[kdcdefaults]
 kdc_listen = 127.0.0.1:7088
 kdc_tcp_listen = 127.0.0.1:7088
"""
PLACES = {"KRB5_CONFIG": f"{FOLDER}/krb5.conf", "KRB5_KDC_PROFILE": f"{FOLDER}/krb5.conf", "KRB5_KTNAME": f"{FOLDER}/server.keys",
          "KRB5_CLIENT_KTNAME": f"{FOLDER}/client.keys", "KRB5CCNAME": f"FILE:{FOLDER}/tickets", "KRB5RCACHETYPE": "none"}
SERVICES = "none", "integrity", "privacy"


def kadmin(query):
    subprocess.run(["/usr/sbin/kadmin.local", "-q", query], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def start_kdc():
    FOLDER.mkdir()
    (FOLDER / "krb5.conf").write_text(CONFIGURATION, encoding="utf-8")
    os.environ.update(PLACES)
    subprocess.run(["/usr/sbin/kdb5_util", "create", "-s", "-r", "TEST", "-P", "secret"], check=True, stdout=subprocess.DEVNULL)
    for name, keys in (("demo/localhost", "server.keys"), ("caller", "client.keys")):
        kadmin(f"addprinc -randkey {name}")
        kadmin(f"ktadd -k {FOLDER}/{keys} {name}")
    kdc = subprocess.Popen(["/usr/sbin/krb5kdc", "-n"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    end = time.monotonic() + peers.LIMIT_S
    while not namespaced.answers(7088):
        if kdc.poll() is not None or time.monotonic() > end:
            raise RuntimeError("the KDC does not answer")


class Gss(unittest.TestCase):
    maxDiff = 3000

    def play(self, server, client, service, *words, **more):
        with peers.server(server, program="rpc-gss-server", **more) as process:
            done = peers.run(client, process.port, service, *words, program="rpc-gss-client", **more)
            self.assertIsNone(process.poll(), "the server has ended")
        self.assertEqual(done.returncode, 0, (done.stdout[-1000:], done.stderr[-2000:]))
        return done.stdout.splitlines(), peers.has_connected(done.stderr)

    def test_services(self):
        for number, service in enumerate(SERVICES, 1):
            expected, _ = self.play("old", "old", service)
            self.assertIn(f"who: status 0, caller@TEST, kerberos_v5, service {number}, demo@localhost", expected[2])
            self.assertIn("echo 20000: status 0, the same", expected)
            for server in peers.WAYS:
                for client in peers.WAYS:
                    for after in ("3", "0"):
                        with self.subTest(service, server=server, client=client, after=after):
                            found, is_by_exs = self.play(server, client, service, EXS_SUNRPC_AFTER=after)
                            self.assertEqual(found, expected)
                            self.assertEqual(is_by_exs, peers.goes_by_exs(server, client))

    def test_a_server_of_threads(self):
        """Leaves these calls to the program's own."""
        for service in SERVICES:
            expected, _ = self.play("old", "old", service)
            found, is_by_exs = self.play(peers.NEW, peers.NEW, service, EXS_SUNRPC_AFTER="0", RPC_TEST_THREADS="2")
            self.assertEqual(found, expected)
            self.assertTrue(is_by_exs)

    def test_large_calls(self):
        """They need their bytes in one piece. By TCP libtirpc has 64 KiB of them, and makes errors above that with two of the services."""
        for service in SERVICES:
            for count in "100000", "1048576":
                for way in peers.WAYS:
                    if way != "old":
                        found, is_by_exs = self.play(way, way, service, count, EXS_SUNRPC_AFTER="0")
                        self.assertEqual(found[-1], f"echo {count}: status 0, the same")
                        self.assertTrue(is_by_exs)


if __name__ == "__main__":
    if shutil.which("/usr/sbin/krb5kdc") is None:
        print("skipped: there is no KDC (Debian: krb5-kdc)")
        sys.exit(77)
    namespaced.prepare()
    start_kdc()
    unittest.main()
