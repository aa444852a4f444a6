# SPDX-License-Identifier: BSD-2-Clause
"""Runs one module of Python's own tests. Writes a line for each test, with its result and its name.
    python_results.py RESULTS MODULE [TEST...]"""
import os
import sys
import tempfile
import unittest
from test import support


# These tests wait for ever for another machine, if the kernel has the socket family.
LEFT_OUT = ("VSOCK",)


def without_left_out(suite):
    return unittest.TestSuite(
        without_left_out(test) if isinstance(test, unittest.TestSuite) else test for test in suite
        if isinstance(test, unittest.TestSuite) or not any(word in type(test).__name__ for word in LEFT_OUT))


class Results(unittest.TextTestResult):
    """The result of a test with subtests is its worst one."""

    def startTestRun(self):
        super().startTestRun()
        self.told = {}

    def note(self, test, result):
        if result != "ok" or test.id() not in self.told:
            self.told[test.id()] = result

    def addSuccess(self, test):
        super().addSuccess(test)
        self.note(test, "ok")

    def addError(self, test, error):
        super().addError(test, error)
        self.note(test, "error")

    def addFailure(self, test, error):
        super().addFailure(test, error)
        self.note(test, "failure")

    def addSkip(self, test, reason):
        super().addSkip(test, reason)
        self.note(test, "skipped")

    def addExpectedFailure(self, test, error):
        super().addExpectedFailure(test, error)
        self.note(test, "expected failure")

    def addUnexpectedSuccess(self, test):
        super().addUnexpectedSuccess(test)
        self.note(test, "unexpected success")

    def addSubTest(self, test, subtest, error):
        super().addSubTest(test, subtest, error)
        if error is not None:
            self.note(test, "failure" if issubclass(error[0], test.failureException) else "error")


def main():
    results, module, tests = os.path.abspath(sys.argv[1]), sys.argv[2], sys.argv[3:]
    # Excludes tests that need other hosts, or minutes. This module asks for the network, but stays on this host.
    support.use_resources = ["network"] if module == "test.test_socketserver" else []
    support.verbose = False
    loader = unittest.TestLoader()
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        if tests:
            suite = unittest.TestSuite(loader.loadTestsFromName(test) for test in tests)
        else:
            suite = loader.loadTestsFromModule(__import__(module, fromlist=["*"]))
        runner = unittest.TextTestRunner(verbosity=2, resultclass=Results)
        told = runner.run(without_left_out(suite)).told
        os.chdir("/")
    with open(results, "w", encoding="utf-8") as file:
        file.writelines(f"{result}: {name}\n" for name, result in sorted(told.items()))


if __name__ == "__main__":  # children of multiprocessing import this file and must not run the tests again
    main()
