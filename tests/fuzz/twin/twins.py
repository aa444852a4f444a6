#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Tools and examples against hostile twins of themselves (mutate_preload.c): of the processes of an act, some change what they send and
scribble over the memory that they share. Those that are honest may fail, and must not break: a report of a sanitizer about one of them,
or a failed check of ours in one, is a finding.

    twins.py BUILD [--seconds N] [--act NAME] [--seed S]

BUILD is compiled with sanitizers. Acts take turns until the time is over, each time with another seed. The last line counts acts and
findings. Status 1: there was a finding; a line before it tells how to repeat it."""
import argparse
import os
import pathlib
import random
import re
import signal
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[3]
ACT_LIMIT_S = 40
BROKEN = re.compile(r"^(==\d+==ERROR.*|.*runtime error:.*|exs: internal check failed.*|SUMMARY: .*)$", re.MULTILINE)

# {bin} is the folder of programs. A server says its port in a line, which becomes {port}.
SERVED = {
    "ping": ("{bin}/exs-ping --server --port 0 --bind 127.0.0.1", "{bin}/exs-ping 127.0.0.1 --port {port} --kind {kind} --size {size} --time 0.2"),
    "blast": ("{bin}/exs-blast --server --port 0 --bind 127.0.0.1", "{bin}/exs-blast 127.0.0.1 --port {port} --kind {kind} --size {size} --time 0.2"),
}
KINDS = {"ping": ["normal", "immediate", "persistent"], "blast": ["normal", "immediate", "persistent", "persistent-receive", "transaction", "stream"]}
RUN = {
    "run": "{bin}/exs-run -n 3 {bin}/ring",
    "crowd": "{bin}/exs-crowd --connections 20 --time 1",
}


def scripts_of_examples(binaries):
    """{name: command}: examples that are built and have a script which runs them."""
    found = {}
    for script in sorted((ROOT / "examples").glob("run-*.sh")):
        name = script.stem.removeprefix("run-")
        if (binaries / name).exists():
            found[f"example-{name}"] = f"{script} {binaries / name}"
    return found


class Act:
    def __init__(self, build, name, seed, folder):
        self.binaries = build / "bin"
        self.build, self.name, self.seed, self.folder = build, name, seed, pathlib.Path(folder)
        self.dice = random.Random(f"{name} {seed}")
        self.notes = self.folder / "hostile"
        self.processes = []

    def environment(self):
        dice = self.dice
        provider = dice.choice(["iwarp", "shm", "shm"])
        options = f"detect_leaks=0:verify_asan_link_order=0:handle_abort=1:log_path={self.folder}/report"
        return os.environ | {
            "LD_PRELOAD": str(self.build / "lib/libexs_twin.so"),
            "TWIN_HOSTILE": dice.choice(["odd", "even"]),
            "TWIN_SEED": str(self.seed),
            "TWIN_RATE": str(dice.choice([2, 5, 20, 100])),
            "TWIN_SKIP": str(dice.choice([0, 2, 10])),
            "TWIN_SCRIBBLE_US": str(dice.choice([0, 20, 500]) if provider == "shm" else 0),
            "TWIN_NOTES": str(self.notes),
            "EXS_PROVIDER": provider,
            "EXS_IWARP_BACKEND": "epoll",  # io_uring sends past the preload
            "ASAN_OPTIONS": options,
            "UBSAN_OPTIONS": f"print_stacktrace=1:halt_on_error=1:log_path={self.folder}/report",
        }

    def start(self, command, environment, output):
        process = subprocess.Popen(command.split(), env=environment, cwd=self.folder, start_new_session=True, stdin=subprocess.DEVNULL,
                                   stdout=output, stderr=(self.folder / f"error.{len(self.processes)}").open("w"), text=True)
        self.processes.append(process)
        return process

    def end(self):
        for process in self.processes:
            for number in (signal.SIGINT, signal.SIGKILL):
                try:
                    os.killpg(process.pid, number)
                except ProcessLookupError:
                    break
                try:
                    process.wait(2)
                except subprocess.TimeoutExpired:
                    continue
            process.wait()

    def wait(self, process):
        try:
            process.wait(ACT_LIMIT_S)
        except subprocess.TimeoutExpired:
            pass  # a hostile twin may keep the others waiting

    def play(self):
        environment = self.environment()
        words = {"bin": self.binaries, "size": self.dice.choice([1, 64, 5000, 70000, 300000])}
        try:
            if self.name in SERVED:
                serve, call = SERVED[self.name]
                server = self.start(serve.format(**words), environment, subprocess.PIPE)
                port = re.search(r"(\d+)\s*$", server.stdout.readline())
                if port is None:
                    return
                call = call.format(port=port[1], kind=self.dice.choice(KINDS[self.name]), **words)
                for _ in range(3):
                    self.wait(self.start(call, environment, subprocess.DEVNULL))
            elif self.name in RUN:
                self.wait(self.start(RUN[self.name].format(**words), environment, subprocess.DEVNULL))
            else:
                self.wait(self.start(scripts_of_examples(self.binaries)[self.name], environment, subprocess.DEVNULL))
        finally:
            self.end()

    def findings(self):
        """What honest processes say of themselves."""
        hostile = set(self.notes.read_text().split()) if self.notes.exists() else set()
        for report in self.folder.glob("report.*"):
            text = report.read_text(errors="replace")
            if report.suffix.removeprefix(".") not in hostile and (said := BROKEN.search(text)):
                yield said[1], text


def parse():
    parser = argparse.ArgumentParser()
    parser.add_argument("build", type=pathlib.Path)
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--act")
    parser.add_argument("--seed", type=int)
    return parser.parse_args()


def main():
    options = parse()
    build = options.build.resolve()
    names = [options.act] if options.act else [*SERVED, *RUN, *scripts_of_examples(build / "bin")]
    names = [name for name in names if name not in SERVED or (build / f"bin/exs-{name}").exists()]
    seed = options.seed or 1
    until = time.monotonic() + options.seconds
    acts, found = 0, 0
    while time.monotonic() < until:
        for name in names:
            if time.monotonic() >= until:
                break
            with tempfile.TemporaryDirectory(prefix="exs-twins-") as folder:
                act = Act(build, name, seed, folder)
                act.play()
                acts += 1
                for what, report in act.findings():
                    found += 1
                    kept = build / f"found/twin-{name}-{seed}"
                    kept.parent.mkdir(exist_ok=True)
                    kept.write_text(report)
                    print(f"{name}: {what}\n  report: {kept}\n  repeat: scripts/fuzz --twins --act {name} --seed {seed} --seconds 1", flush=True)
        if options.seed:
            break
        seed += 1
    print(f"{acts} acts of {len(names)} kinds with hostile twins, {found} findings")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
