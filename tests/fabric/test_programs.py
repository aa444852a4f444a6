# SPDX-License-Identifier: BSD-2-Clause
"""Programs of others over the provider: libfabric's own, and Open MPI's with NetPIPE and mpi4py. None knows of exs.

EXS_FABRIC is the folder of libexs-fi.so, EXS_TOOLS that of the tools."""
import json
import os
import pathlib
import shutil
import socket
import subprocess
import tempfile
import time
import unittest

LIMIT_S = 200
FOLDER = os.environ["EXS_FABRIC"]
ENVIRONMENT = {**os.environ, "FI_PROVIDER_PATH": FOLDER, "FI_PROVIDER": "exs", "EXM_ADDRESS": "127.0.0.1",
               "OMPI_MCA_pml": "cm", "OMPI_MCA_mtl": "ofi", "OMPI_MCA_mtl_ofi_provider_include": "exs",
               "OMPI_MCA_btl": "^openib"}


def run(*command, **options):
    return subprocess.run([str(word) for word in command], env=ENVIRONMENT, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True, timeout=LIMIT_S, check=False, **options)


def mpirun(ranks, *command, **options):
    as_root = ["--allow-run-as-root"] if os.geteuid() == 0 else []
    return run("mpirun", *as_root, "--oversubscribe", "-n", ranks, *command, **options)


def free_port():
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return str(one.getsockname()[1])


class FabricProgramsTest(unittest.TestCase):
    def require(self, program):
        if shutil.which(program) is None:
            self.skipTest(f"there is no {program}")

    def test_fi_info_shows_the_provider(self):
        self.require("fi_info")
        done = run("fi_info", "-p", "exs")
        self.assertEqual(done.returncode, 0, done.stdout)
        self.assertIn("provider: exs", done.stdout)
        self.assertIn("FI_EP_RDM", done.stdout)

    def test_fi_pingpong_verifies_what_it_gets(self):
        self.require("fi_pingpong")
        options = ["-e", "rdm", "-p", "exs", "-c", "-I", "20"]
        port = free_port()
        server = subprocess.Popen(["fi_pingpong", *options, "-B", port], env=ENVIRONMENT, text=True,
                                  stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        self.addCleanup(server.communicate)
        self.addCleanup(server.kill)
        client = None
        for _ in range(LIMIT_S):
            client = run("fi_pingpong", *options, "-P", port, "127.0.0.1")
            if client.returncode == 0 or server.poll() is not None:
                break
        self.assertEqual(client.returncode, 0, client.stdout)
        self.assertEqual(server.wait(LIMIT_S), 0)
        self.assertIn("1m", client.stdout)

    def test_exs_top_shows_the_connections_of_the_provider(self):
        self.require("fi_pingpong")
        options = ["-e", "rdm", "-p", "exs", "-I", "100000000", "-S", "8"]
        port = free_port()
        ends = []
        for more in ["-B", port], ["-P", port, "127.0.0.1"]:
            end = subprocess.Popen(["fi_pingpong", *options, *more], env=ENVIRONMENT, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            self.addCleanup(end.wait)
            self.addCleanup(end.kill)
            ends.append(end)
        until_s = time.monotonic() + LIMIT_S
        labels = set()
        while labels != {"exs-fi"} and time.monotonic() < until_s:
            if ends[1].poll() is not None:  # the server was not there yet
                ends[1] = subprocess.Popen(["fi_pingpong", *options, "-P", port, "127.0.0.1"], env=ENVIRONMENT,
                                           stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
                self.addCleanup(ends[1].wait)
                self.addCleanup(ends[1].kill)
            done = run(pathlib.Path(os.environ["EXS_TOOLS"], "exs-top"), "--json")
            self.assertEqual(done.returncode, 0, done.stdout)
            of_server = [one for one in json.loads(done.stdout)["processes"] if one["pid"] == ends[0].pid]
            labels = {connection["label"] for process in of_server for connection in process["connections"]}
        self.assertEqual(labels, {"exs-fi"})

    def test_netpipe_checks_messages_of_all_lengths(self):
        self.require("NPopenmpi")
        with tempfile.TemporaryDirectory() as folder:
            done = mpirun(2, "NPopenmpi", "-i", "-n", "3", "-u", "300000", "-o", pathlib.Path(folder) / "out")
            self.assertEqual(done.returncode, 0, done.stdout)
            self.assertNotRegex(done.stdout, r"[Ii]ntegrity check failed")

    def test_an_mpi_program_of_python_passes_a_ring(self):
        self.require("mpirun")
        example = pathlib.Path(__file__).resolve().parents[2] / "examples/run-mpi_ring.sh"
        done = run(example, FOLDER)
        self.assertEqual(done.returncode, 0, done.stdout)

    def test_mpi_point_to_point_of_every_kind(self):
        self.require("mpirun")
        done = mpirun(3, "/usr/bin/python3", "-m", "mpi4py", pathlib.Path(__file__).with_name("mpi_messages.py"))
        self.assertEqual(done.returncode, 0, done.stdout)
        self.assertEqual(done.stdout.strip(), "right")


if __name__ == "__main__":
    unittest.main()
