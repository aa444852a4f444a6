# SPDX-License-Identifier: BSD-2-Clause
"""What scripts/setup does to a machine. apt and dpkg are scripts of this test that note how they are called, and /usr/sbin is a
folder of this test: in a mount namespace, in which the test is root, or a user whom it may not become."""
import os
import pathlib
import pty
import signal
import subprocess
import tempfile
import unittest

SETUP = pathlib.Path(__file__).resolve().parents[2] / "scripts/setup"
LIMIT_S = 300  # for a hang alone
DONE, FAILED, USAGE, NOT_DONE, WOULD_CHANGE = 0, 1, 2, 3, 5
OWN_POLICY = "#!/bin/sh\nexit 104\n"

STUBS = {
    "dpkg-query": """
case $1 in
  --show) shift 2; for name; do grep "^$name	" "$WORLD/installed"; done ;;
  --listfiles) cat "$WORLD/files-of-$2" 2>/dev/null ;;
esac""",
    "apt-cache": """
shift
for name; do
  grep -q "^$name$" "$WORLD/unknown" || printf '%s:\\n  Installed: (none)\\n  Candidate: 1\\n' "$name"
done""",
    # In the midst of an installation, what a maintainer's script would be told by the policy, and one of somebody else.
    "apt-get": """
echo "apt-get $*" >>"$WORLD/calls"
case " $* " in
  *" update "*) exit 0 ;;
  *" --simulate "*) cat "$WORLD/plan"; exit 0 ;;
  *" --download-only "*) exit 0 ;;
  *" --print-uris "*) echo "'http://x/y' y_1.deb 1000 -"; exit 0 ;;
esac
for who in "$EXS_SETUP" ''; do
  EXS_SETUP=$who /usr/sbin/policy-rc.d nginx start
  echo "policy${who:+ for setup} $?" >>"$WORLD/calls"
done
. "$WORLD/ending" """,
    "systemctl": 'echo "systemctl $*" >>"$WORLD/calls"',
    "update-rc.d": 'echo "update-rc.d $*" >>"$WORLD/calls"',
}


def in_namespace(user, *command):
    return ["unshare", "--user", f"--map-user={user}", f"--map-group={user}", "--mount", *command]


class Installation(unittest.TestCase):
    def setUp(self):
        if subprocess.run(in_namespace(0, "true"), capture_output=True, check=False).returncode != 0:
            self.skipTest("user namespaces are not allowed here")
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.world = pathlib.Path(folder.name)
        self.sbin = self.world / "sbin"
        for name in ("sbin", "bin"):
            (self.world / name).mkdir()
        for name, text in STUBS.items():
            self.script(self.world / "bin" / name, f"#!/bin/sh\n{text}\n")
        self.write(installed="", unknown="", ending="exit 0\n", calls="",
                   plan="".join(f"Inst {name} (1 Debian:12)\n" for name in self.names("build") + ["libnew"]))

    def write(self, **files):
        for name, text in files.items():
            (self.world / name).write_text(text)

    @staticmethod
    def script(path, text):
        path.write_text(text)
        path.chmod(0o755)

    @staticmethod
    def names(*groups):
        said = subprocess.run([SETUP, "--list", *groups], capture_output=True, text=True, check=True).stdout
        return [line.split()[1] for line in said.splitlines() if line.startswith("  ")]

    def command(self, *words, user=0):
        if user == 0:
            words = ["sh", "-c", 'mount --bind "$0" /usr/sbin && exec "$@"', self.sbin, SETUP, *words]
        else:
            words = [SETUP, *words]
        return in_namespace(user, "env", f"PATH={self.world}/bin:/usr/bin:/bin", f"WORLD={self.world}", *words)

    def setup(self, *words, user=0):
        done = subprocess.run(self.command(*words, user=user), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, text=True, timeout=LIMIT_S, check=False, start_new_session=True)
        return done.returncode, done.stdout

    def calls(self):
        return (self.world / "calls").read_text().splitlines()

    def installations(self):
        return [call for call in self.calls() if call.startswith("apt-get") and "--no-download" in call]

    def machine(self):
        """All that is in /usr/sbin, and how."""
        states = [(path, path.lstat()) for path in sorted(self.sbin.iterdir())]
        return [(path.name, os.readlink(path) if path.is_symlink() else path.read_text(),
                 state.st_ino, state.st_mode, state.st_uid, state.st_gid, state.st_mtime_ns) for path, state in states]

    def own_policies(self):
        """A machine has no policy, one, or a link to one; each in turn."""
        policy, target = self.sbin / "policy-rc.d", self.world / "policy"
        self.script(target, OWN_POLICY)
        yield 0
        self.script(policy, OWN_POLICY)
        yield 104
        policy.unlink()
        policy.symlink_to(target)
        yield 104

    def test_what_is_missing_is_named_with_its_reason_and_installed(self):
        status, said = self.setup()
        self.assertEqual(status, DONE, said)
        for name in self.names("build"):
            self.assertRegex(said, rf"  {name.replace('+', '.')} +build: \w")
        installation, = self.installations()
        self.assertEqual(installation.split()[-len(self.names("build")):], self.names("build"))
        for word in ("--no-install-recommends", "--no-upgrade", "--no-remove"):
            self.assertIn(word, installation)

    def test_policy_is_for_this_installation_alone_and_leaves_no_trace(self):
        for others in self.own_policies():
            for ending, expected in (("exit 0", DONE), ("exit 100", FAILED), ("kill -TERM $PPID", 143), ("kill -INT $PPID", 130),
                                     ("kill -HUP $PPID", 129)):
                with self.subTest(others=others, ending=ending):
                    self.write(calls="", ending=ending)
                    before = self.machine()
                    status, said = self.setup()
                    self.assertEqual(status, expected, said)
                    self.assertEqual([call for call in self.calls() if call.startswith("policy")],
                                     ["policy for setup 101", f"policy {others}"])
                    self.assertEqual(self.machine(), before)

    def test_policy_of_a_run_that_was_killed_goes_with_the_next(self):
        for others in self.own_policies():
            with self.subTest(others=others):
                before = self.machine()
                self.write(ending="kill -KILL $PPID")
                self.assertEqual(self.setup()[0], -signal.SIGKILL)
                self.assertNotEqual(self.machine(), before)
                self.write(ending="exit 0", calls="")
                self.assertEqual(self.setup()[0], DONE)
                self.assertEqual(self.calls()[-1], f"policy {others}")
                self.assertEqual(self.machine(), before)

    def test_an_interrupt_lets_dpkg_finish(self):
        group_of_script = "$(cut -d ' ' -f 5 /proc/$PPID/stat)"
        self.write(ending=f'kill -s INT -- -{group_of_script}\necho finished >>"$WORLD/calls"\nexit 0\n')
        before = self.machine()
        self.assertEqual(self.setup()[0], 128 + signal.SIGINT)
        self.assertEqual(self.calls()[-1], "finished")
        self.assertEqual(self.machine(), before)

    def test_new_servers_are_disabled_and_no_others(self):
        units = self.world / "systemd/system"
        units.mkdir(parents=True)
        for name, text in (("new.service", "[Service]\n[Install]\n"), ("new.socket", "[Install]\n"), ("static.service", "[Service]\n"),
                           ("old.service", "[Install]\n"), ("new.timer", "[Install]\n")):
            (units / name).write_text(text)
        listed = "".join(f"{units}/{name}\n" for name in ("new.service", "new.socket", "static.service", "new.timer"))
        self.write(**{"files-of-libnew": listed + "/etc/init.d/new\n", "files-of-old": f"{units}/old.service\n"})
        for ending in ("exit 0", "kill -TERM $PPID"):
            with self.subTest(ending=ending):
                self.write(calls="", ending=ending)
                _, said = self.setup()
                self.assertEqual(self.calls()[-4:], [f"systemctl --quiet disable new.{kind}" for kind in ("service", "socket", "timer")] +
                                 ["update-rc.d new disable"])
                self.assertIn("neither started nor enabled for the next boot: new new.service new.socket new.timer", said)

    def test_nothing_that_is_here_is_upgraded_or_removed(self):
        for line, what in (("Inst libc6 [1] (2 Debian:12)\n", "install --only-upgrade libc6"), ("Remv other [1]\n", "remove other")):
            with self.subTest(line=line):
                self.write(plan="Inst g++ (1 Debian:12)\n" + line, calls="")
                status, said = self.setup()
                self.assertEqual(status, WOULD_CHANGE, said)
                self.assertRegex(said, rf"\n  apt-get {what}\b")
                self.assertEqual(self.installations(), [])

    def test_what_a_new_package_needs_is_upgraded_where_that_is_asked_for(self):
        self.write(plan="Inst g++ (1 Debian:12)\nInst libc6 [1] (2 Debian:12)\n", calls="")
        status, said = self.setup("--upgrade")
        self.assertEqual(status, DONE, said)
        self.assertIn("upgraded, because these need it:\n  libc6\n", said)
        installation, = self.installations()
        self.assertNotIn("--no-upgrade", installation)
        self.write(plan="Inst g++ (1 Debian:12)\nRemv other [1]\n", calls="")
        self.assertEqual(self.setup("--upgrade")[0], WOULD_CHANGE)

    def test_what_is_here_is_left_alone(self):
        self.write(installed="".join(f"{name}\t{state} ok installed\n" for name, state in
                                     zip(self.names("build"), ["hold"] + 100 * ["install"])))
        status, said = self.setup()
        self.assertEqual((status, self.calls()), (DONE, []), said)
        self.assertRegex(said, r"^setup: all \d+ packages of build are here\n$")

    def test_without_root_nothing_changes_and_the_commands_are_named(self):
        status, said = self.setup("demo", user=1000)
        self.assertEqual((status, self.calls()), (NOT_DONE, []), said)
        names = " ".join(self.names("build", "demo"))
        self.assertIn(f"\n  sudo {SETUP} demo\n  sudo apt-get install --no-install-recommends {names}\n", said)

    def test_dry_run_changes_nothing(self):
        for user in (0, 1000):
            with self.subTest(user=user):
                before = self.machine()
                self.write(calls="")
                status, said = self.setup("--dry-run", user=user)
                self.assertEqual(status, DONE, said)
                self.assertIn("root would run: apt-get install --no-install-recommends " + " ".join(self.names("build")), said)
                self.assertEqual([call for call in self.calls() if "--simulate" not in call and "--print-uris" not in call], [])
                self.assertEqual(self.machine(), before)

    def test_on_a_terminal_it_asks(self):
        for answer, words, expected in (("n\n", [], NOT_DONE), ("\n", [], DONE), ("y\n", [], DONE), ("", ["--yes"], DONE)):
            with self.subTest(answer=answer, words=words):
                self.write(calls="")
                ours, theirs = pty.openpty()
                os.write(ours, answer.encode())
                done = subprocess.run(self.command(*words), stdin=theirs, stdout=theirs, stderr=theirs, timeout=LIMIT_S, check=False)
                os.close(theirs)
                os.close(ours)
                self.assertEqual(done.returncode, expected)
                self.assertEqual(len(self.installations()), 1 if expected == DONE else 0)

    def test_package_that_apt_does_not_have(self):
        self.write(unknown="liburing-dev\nsockperf\n")
        status, said = self.setup()
        self.assertEqual((status, self.installations()), (FAILED, []), said)
        self.assertIn(": liburing-dev\n", said)
        status, said = self.setup("--peers")  # of which those are taken that there are
        self.assertEqual(status, DONE, said)
        self.assertIn("without sockperf", said)
        self.assertIn(" qperf", self.installations()[0])
        self.assertNotIn("sockperf", self.installations()[0])

    def test_groups_come_with_what_they_need(self):
        self.write(installed="".join(f"{name}\tinstall ok installed\n" for name in self.names()))
        for group, others in (("demo", ["build"]), ("test", ["build", "layers", "java"]), ("lint", ["build", "layers", "java", "test"])):
            count = len(set(self.names(group, *others)))
            self.assertEqual(self.setup(group), (DONE, f"setup: all {count} packages of {group} are here\n"))
        status, said = self.setup("nonsense")
        self.assertEqual(status, USAGE)
        self.assertIn("there is no group or option nonsense", said)


if __name__ == "__main__":
    unittest.main()
