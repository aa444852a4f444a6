# SPDX-License-Identifier: BSD-2-Clause
"""The suites: how to run each, and how to read its results."""
import os
import pathlib
import re
import shutil

from compiled import Libzmq, Nng
from interpreters import Node, Perl, Ruby
from suite import HERE, NONE, Packaged, Suite, run

PYTHON = "/usr/bin/python3"


class Python(Suite):
    name = "python"
    MODULES = ["socket", "ssl", "ftplib", "httplib", "httpservers", "smtplib", "poplib", "imaplib", "selectors", "select", "poll",
               "epoll", "subprocess", "multiprocessing_fork", "socketserver", "xmlrpc", "urllib2_localnet", "wsgiref"]

    def tests_folder(self):
        found = sorted(pathlib.Path("/usr/lib").glob("python3.*/test/test_socket.py"))
        return found[-1].parent if found else None

    def prepare(self):
        if self.tests_folder() is None:
            return "not installed: libpython3.11-testsuite"
        return super().prepare()

    def parts(self):
        modules = [f"test_{name}" for name in self.MODULES if (self.tests_folder() / f"test_{name}.py").exists()]
        asyncio = (self.tests_folder() / "test_asyncio").glob("test_*.py")
        return modules + sorted(f"test_asyncio.{path.stem}" for path in asyncio if "windows" not in path.name)

    def run(self, part, environment, log, only):
        results = self.folder / "results"
        results.unlink(missing_ok=True)
        run([PYTHON, str(HERE / "python_results.py"), str(results), f"test.{part}", *([only] if only else [])], environment, log,
            self.folder)
        lines = results.read_text(encoding="utf-8").splitlines() if results.exists() else []
        return dict(reversed(line.split(": ", 1)) for line in lines) or {"(all)": NONE}


class Libuv(Packaged):
    """The suite refuses root, so the user nobody runs it."""
    name, package = "libuv", "libuv1"

    def prepare(self):
        lack = super().prepare()
        if lack is None:
            shutil.copytree(self.source / "test", self.folder / "test")
            shutil.copy(self.build / "uv_run_tests_a", self.folder)
            if os.geteuid() == 0:
                for path in (self.folder, *self.folder.rglob("*")):
                    shutil.chown(path, "nobody")
        return lack

    def run(self, part, environment, log, only):
        user = ["setpriv", "--reuid=nobody", "--regid=nogroup", "--clear-groups"] if os.geteuid() == 0 else []
        told = run([*user, "./uv_run_tests_a", *([only] if only else [])], {**environment, "HOME": str(self.folder)}, log, self.folder)
        lines = re.findall(r"^(ok|not ok) \d+ - (\S+)( # SKIP)?", told, re.MULTILINE)
        return {test: "skipped" if skipped else result for result, test, skipped in lines}


class Libevent(Packaged):
    """Runs once for each of libevent's ways to wait."""
    name, package = "libevent", "libevent"
    WAITS = {"epoll": "", "changelist": "EVENT_EPOLL_USE_CHANGELIST", "poll": "EVENT_NOEPOLL", "select": "EVENT_NOEPOLL EVENT_NOPOLL"}

    def parts(self):
        return list(self.WAITS)

    def run(self, part, environment, log, only):
        told = run([self.build / "bin/regress", *([only] if only else [])],
                   {**environment, **{word: "yes" for word in self.WAITS[part].split()}}, log, self.folder)
        return {test: result for test, result in
                re.findall(r"^(\S+/\S+): .*?(OK|FAILED|SKIPPED|DISABLED)?$", told, re.MULTILINE)}


SUITES = {suite.name: suite for suite in (Python, Libuv, Libevent, Node, Libzmq, Perl, Ruby, Nng)}
