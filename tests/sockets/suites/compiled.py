# SPDX-License-Identifier: BSD-2-Clause
"""Suites that CTest lists."""
import json
import os
import re
import subprocess

from suite import Packaged, finish

LIMIT_S = 120


class Listed(Packaged):
    """A program for each group of tests. `TEST` below matches the result of each test in its output. Its exit status is
    a result, too."""

    def commands(self):
        """{name: (command, folder)}"""
        told = subprocess.run(["ctest", "--show-only=json-v1"], cwd=self.build, stdout=subprocess.PIPE, check=True).stdout
        folders = {test["name"]: prop["value"] for test in json.loads(told)["tests"] for prop in test.get("properties", [])
                   if prop["name"] == "WORKING_DIRECTORY"}
        return {test["name"]: (test["command"], folders.get(test["name"], self.build)) for test in json.loads(told)["tests"]
                if "command" in test}

    def run(self, part, environment, log, only):
        results = {}
        for name, (command, folder) in self.commands().items():
            if only and only.split(":")[0] != name:
                continue
            log.write(f"== {name}\n".encode())
            ended, told = finish(command, environment, log, folder, LIMIT_S)
            results[name] = re.sub(r"status \d+", "failed", ended)  # the status counts the tests that failed
            results |= {f"{name}:{test}": result for test, result in self.TEST.findall(told)}
        return results


class Libzmq(Listed):
    name, package = "libzmq", "zeromq3"
    TEST = re.compile(r"^[^\s:]+:\d+:(\w+):(PASS|FAIL|IGNORE)", re.MULTILINE)


class Nng(Listed):
    name, package = "nng", "nng"
    TEST = re.compile(r"^Test (.+):\n(?: .*\n)*? +(SUCCESS|FAILED)", re.MULTILINE)
