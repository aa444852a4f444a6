# SPDX-License-Identifier: BSD-2-Clause
"""Each function of libtirpc's manual pages, called by same/*.c with right and wrong arguments: what the program prints is the same without
exs-sunrpc and with it, at a server that has it and one that has not. And the functions are those of the pages, but for some with
reasons."""
import contextlib
import gzip
import pathlib
import re
import subprocess
import unittest

import namespaced
import peers

namespaced.enter()

HERE = pathlib.Path(__file__).parent
PROGRAM = 0x20004D58
PARTS = "entries", "clients", "calls", "binder", "servers", "codes", "security"
LEFT_OUT = {
    "clnt_broadcast": "asks all hosts for 40 s, by UDP, which is libtirpc's alone",
    "authdes_pk_create": "needs a public key of the peer's; authdes_create is called, and has none to find",
    "authdes_getucred": "is of servers that take AUTH_DES, which libtirpc here is built without",
    "__svc_getcallercreds": "libtirpc has no such function on Linux",
    "svc_getcaller": "is a member of transports that is in no header here", "svc_fds": "is older than svc_fdset",
    "svc_pollset": "is called svc_pollfd here",
    "cbc_crypt": "libtirpc is built without DES", "ecb_crypt": "the same", "des_setparity": "the same", "DES_FAILED": "the same",
    "des_crypt": "the same",
    "xdr_authsys_parms": "is xdr_authunix_parms here",
    "rpc_createerr": "is a variable, which is printed", "svc_fdset": "is a variable, which is waited on",
}
# Of texts: names of pages, examples, and what programs give.
NO_FUNCTIONS = {"callback", "clnt_", "dispatch", "eachresult", "htons", "netconfig", "pmap_", "printf", "rpc", "rpc_clnt_calls",
                "rpc_clnt_create", "rpc_secure", "rpc_soc", "rpc_svc_create", "rpc_svc_err", "rpc_svc_reg", "svc_", "rpc_clnt_auth",
                "rpc_svc_calls", "rpc_xdr", "rpcbind", "rpcsec_gss", "RPCSEC_GSS"}
MACROS = {"svc_control": "SVC_CONTROL"}


def pages():
    listed = subprocess.run(["dpkg", "-L", "libtirpc-dev"], capture_output=True, text=True, check=True).stdout
    return [pathlib.Path(path) for path in listed.split() if path.endswith(".3t.gz") and pathlib.Path(path).exists()]


def documented():
    names = set()
    for page in pages():
        text = gzip.decompress(page.read_bytes()).decode(errors="replace")
        names |= {name.strip("\"(),*") for name in re.findall(r"^\.(?:Fn|Fo|Nm) +(\S+)", text, re.MULTILINE)}
    return {name for name in names if re.fullmatch(r"\w+", name)} - NO_FUNCTIONS


class Sameness(unittest.TestCase):
    maxDiff = 3000

    @contextlib.contextmanager
    def server(self, way):
        """By rpcbind on each network, and at a local socket."""
        with peers.server(way, "-n", "visible"), peers.server(way, "/run/same"):
            namespaced.await_listed(PROGRAM, "tcp")
            namespaced.await_listed(PROGRAM, "udp6")
            yield
        subprocess.run([namespaced.RPCINFO, "-d", str(PROGRAM), "1"], check=True)

    def play(self, server, client, part):
        before = namespaced.listed()
        with self.server(server):
            done = peers.run(client, part, program="rpc-same", SAME_PATH="/run/same")
        pathlib.Path("/run/same").unlink()
        for name in "/run/same-socket", "/run/same-other":
            pathlib.Path(name).unlink(missing_ok=True)
        self.assertEqual(done.returncode, 0, (done.stdout[-1000:], done.stderr[-2000:]))
        self.assertTrue(done.stdout.endswith("\nend\n"))
        self.assertEqual(namespaced.listed(), before)
        # exs says what it does; the rest is libtirpc's.
        errors = [line.replace("rpc-same-linked", "rpc-same") for line in done.stderr.splitlines() if not line.startswith("exs: ")]
        return done.stdout.splitlines() + errors, peers.has_connected(done.stderr)

    def test_parts(self):
        for part in PARTS:
            expected, _ = self.play("old", "old", part)
            self.assertGreater(len(expected), 20)
            for server in peers.WAYS:
                for client in peers.WAYS:
                    with self.subTest(part, server=server, client=client):
                        found, is_by_exs = self.play(server, client, part)
                        self.assertEqual(found, expected)
                        if part in ("clients", "calls", "security"):
                            self.assertEqual(is_by_exs, peers.goes_by_exs(server, client))

    def test_functions_are_those_of_the_pages(self):
        names = documented()
        self.assertGreater(len(names), 120, "the pages are not read as they are")
        # What needs proofs of identity is called by the programs of test_gss.py.
        sources = "".join(path.read_text(encoding="utf-8") for path in (*HERE.glob("same/*.c"), *HERE.glob("gss_*.c")))
        called = {name for name in names if re.search(rf"\b{MACROS.get(name, name)}\(|SHOW_CODE\({name},", sources)}
        self.assertEqual(sorted(names - called - set(LEFT_OUT)), [], "same/*.c do not call these")
        self.assertEqual(sorted(called & set(LEFT_OUT)), [], "these are left out, and called")
        self.assertEqual(sorted(set(LEFT_OUT) - names), [], "these are in no page")


if __name__ == "__main__":
    namespaced.prepare()
    namespaced.start_rpcbind()
    unittest.main()
