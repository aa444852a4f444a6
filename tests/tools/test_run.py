# SPDX-License-Identifier: BSD-2-Clause
"""exs-run: programs that the sockets layer can serve get it, all others run as without it, and it is told which are which."""
import json
import os
import pathlib
import stat
import struct
import subprocess
import tempfile
import unittest

from tools import BIN, ToolsTest, run

LIBRARY = BIN.parent / "lib" / "libexs_sockets.so"
PYTHON = os.path.realpath("/proc/self/exe")
SERVED, NOT_SERVED = 0, 3
PT_LOAD, PT_NOTE, PT_INTERP = 1, 4, 3
HEADER_BYTES, PART_BYTES = 64, 56


def elf(parts, machine=None, bits=2, part_bytes=PART_BYTES):
    """An ELF file with these (type, contents), of this machine."""
    with open(PYTHON, "rb") as own:
        ident = bytearray(own.read(HEADER_BYTES))
    own_machine = struct.unpack_from("<H", ident, 18)[0]
    ident[4] = bits
    header = bytes(ident[:16]) + struct.pack("<HHIQQQIHHHHHH", 2, machine or own_machine, 1, 0, HEADER_BYTES, 0, 0, HEADER_BYTES,
                                             part_bytes, len(parts), 0, 0, 0)
    table, contents = b"", b""
    for kind, content in parts:
        offset = HEADER_BYTES + PART_BYTES * len(parts) + len(contents)
        table += struct.pack("<IIQQQQQQ", kind, 4, offset, 0, 0, len(content), len(content), 1)
        contents += content
    return header + table + contents


class Check(ToolsTest):
    def setUp(self):
        self.folder = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory()))

    def make(self, contents, mode=0o755):
        path = self.folder / "program"
        path.write_bytes(contents)
        path.chmod(mode)
        return path

    def reason_of(self, path):
        done = run("exs-run", "--check", "--json", path)
        found = json.loads(done.stdout)
        self.assertEqual(done.returncode, SERVED if found["served"] else NOT_SERVED, done.stderr)
        self.assertEqual(list(found), ["tool", "version", "schema", "host", "kernel", "date", "program", "served", "reason", "text", "cure"])
        return found["reason"]

    def test_a_program_of_this_machine_is_served(self):
        self.assertEqual(self.reason_of(PYTHON), "served")
        self.assertIn("served", self.succeed("exs-run", "--check", PYTHON))

    def test_a_script_is_what_its_interpreter_is(self):
        self.assertEqual(self.reason_of(self.make(f"#! {PYTHON} -B\n".encode())), "served")
        self.assertEqual(self.reason_of(self.make(b"#!/no/such/interpreter\n")), "missing")
        path = self.folder / "program"
        self.assertEqual(self.reason_of(self.make(f"#!{path}\n".encode())), "not-a-program")

    def test_each_reason(self):
        linker = (PT_INTERP, b"/lib64/ld-linux-x86-64.so.2\0")
        go = (PT_NOTE, struct.pack("<III", 4, 4, 4) + b"Go\0\0abcd")
        for reason, contents in {
                "served": elf([linker]),
                "static": elf([(PT_LOAD, b"code")]),
                "go": elf([go, linker]),
                "other-libc": elf([(PT_INTERP, b"/lib/ld-musl-x86_64.so.1\0")]),
                "other-machine": elf([linker], machine=8),
                "not-a-program": b"text",
        }.items():
            with self.subTest(reason=reason):
                self.assertEqual(self.reason_of(self.make(contents)), reason)
        self.assertEqual(self.reason_of(self.make(elf([linker], bits=1))), "other-machine")

    def test_damaged_files_are_examined_to_an_end(self):
        whole = elf([(PT_INTERP, b"/lib64/ld-linux-x86-64.so.2\0"), (PT_NOTE, b"\xff" * 32), (2, b"\xff" * 64)])
        for length in range(len(whole)):
            self.assertIn(self.reason_of(self.make(whole[:length])), ("not-a-program", "static", "other-libc", "served"))
        for at in range(HEADER_BYTES, len(whole), 3):
            damaged = bytearray(whole)
            damaged[at] ^= 0xff
            self.reason_of(self.make(bytes(damaged)))

    @unittest.skipIf(os.geteuid() != 0, "only root gives files away")
    def test_a_program_with_rights_of_another_user(self):
        path = self.make(pathlib.Path(PYTHON).read_bytes())
        os.chown(path, 65534, 65534)
        path.chmod(0o755 | stat.S_ISUID)
        self.assertEqual(self.reason_of(path), "gives-rights")

    def test_missing(self):
        self.assertEqual(self.reason_of(self.folder / "none"), "missing")

    def test_which_file_is_missing_is_told_by_each_way_to_start(self):
        loader = elf([(PT_INTERP, b"/lib/ld-nowhere.so.1\0")])
        (self.folder / "inner").write_bytes(b"#!/nowhere/inner\n")
        for words, contents in {
                "its interpreter /nowhere/python cannot be found: No such file or directory": b"#! /nowhere/python -B\n",
                "its interpreter /nowhere/inner cannot be found": f"#!{self.folder}/inner\n".encode(),
                "its interpreter is /bin/sh\\r (cure: take the carriage returns out": b"#!/bin/sh\r\nexit 0\r\n",
                "its dynamic loader /lib/ld-nowhere.so.1 cannot be found": loader,
        }.items():
            (self.folder / "inner").chmod(0o755)
            path = self.make(contents)
            for options in ([], ["-n", "2"]):
                with self.subTest(words=words, options=options):
                    done = run("exs-run", *options, path)
                    self.assertEqual(done.returncode, 127, done.stderr)
                    self.assertIn(words, done.stderr)
                    self.assertIn("(cure: ", done.stderr)
                    self.assertNotIn("there is no such file", done.stderr)
        self.assertIn("its interpreter /nowhere/python", run("exs-run", "--check", self.make(b"#!/nowhere/python\n")).stdout)
        self.assertIn("there is no such file", run("exs-run", self.folder / "none").stderr)
        self.assertIn("No such file or directory", run("exs-run", "-n", "2", self.folder / "none").stderr)
        self.assertIn("Not a directory", run("exs-run", self.folder / "program" / "x").stderr)


class Run(ToolsTest):
    MAPS = "import sys; sys.stdout.write(open('/proc/self/maps').read())"

    def test_the_library_is_loaded_and_the_words_are_there(self):
        maps = self.succeed("exs-run", PYTHON, "-c", self.MAPS)
        self.assertIn(str(LIBRARY.resolve()), maps)
        done = run("exs-run", "--set", "ring=1M", "--explain", "sh", "-c", "echo $EXS_SOCKETS $EXS_EXPLAIN", EXS_SOCKETS="after=1")
        self.assertEqual(done.stdout.strip(), "ring=1M,after=1 yes")

    def test_what_cannot_be_served_runs_as_without_it(self):
        with tempfile.TemporaryDirectory() as folder:
            source, path = pathlib.Path(folder, "a.c"), pathlib.Path(folder, "a")
            source.write_text('#include <stdlib.h>\nint main(void) { return getenv("LD_PRELOAD") == NULL ? 7 : 8; }\n')
            subprocess.run(["cc", "-static", "-o", path, source], check=True)
            done = run("exs-run", path)
            self.assertEqual(done.returncode, 7)
            self.assert_one_line(done.stderr, "static", "cure")

    def test_the_status_is_the_programs(self):
        self.assertEqual(run("exs-run", "sh", "-c", "exit 9").returncode, 9)
        self.assertEqual(run("exs-run", "--", "sh", "-c", "exit 8").returncode, 8)

    def test_what_cannot_run(self):
        done = run("exs-run", "no-such-program-anywhere")
        self.assertEqual(done.returncode, 127)
        self.assert_one_line(done.stderr, "not found")
        self.assertEqual(run("exs-run", "/no/such/program").returncode, 127)
        self.assertEqual(run("exs-run", "/").returncode, 126)

    def test_a_misspelt_setting_is_told_once(self):
        done = run("exs-run", "true", EXS_PROVIDR="shm", EXS_SOKETS="ring=1M")
        self.assertEqual(done.returncode, 0)
        self.assert_one_line(done.stderr, "EXS_PROVIDR is no setting", "the nearest is EXS_PROVIDER", "the nearest is EXS_SOCKETS)")
        # The programs of a job have been told of by then.
        done = run("exs-run", "-n", "3", BIN / "exs-explain", "--json", EXS_FOO="1")
        self.assert_one_line(done.stderr, "EXS_FOO is no setting")

    @unittest.skipIf(os.geteuid() != 0, "only root makes a network of its own")
    def test_a_loopback_interface_that_is_down_is_told(self):
        done = subprocess.run(["unshare", "-n", BIN / "exs-run", "-n", "2", "true"], capture_output=True, text=True, timeout=60, check=False)
        self.assert_one_line(done.stderr, "loopback interface is down", "ip link set lo up")
        self.assertEqual(run("exs-run", "-n", "2", "true").stderr, "")

    def test_bad_usage(self):
        self.assertEqual(run("exs-run").returncode, 2)
        self.assertEqual(run("exs-run", "--json", "true").returncode, 2)
        self.assertEqual(run("exs-run", "--set", "rings=7", "true").returncode, 2)
        done = run("exs-run", "--library", "/no/such/library.so", "true")
        self.assertEqual(done.returncode, 1)
        self.assert_one_line(done.stderr, "/no/such/library.so")


if __name__ == "__main__":
    unittest.main()
