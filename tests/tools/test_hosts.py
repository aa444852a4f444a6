# SPDX-License-Identifier: BSD-2-Clause
"""exs-run --hosts: a job on several hosts is as one on this one, and ends with its agents and connections. The hosts are this one,
under several names, by a false ssh; and two network namespaces, where the test may make them. EXS_TOOLS is the folder of the
programs, EXS_JOB_MEMBER a process that does as its arguments say (job_member.cc)."""
import os
import pathlib
import select
import shutil
import signal
import subprocess
import tempfile
import unittest

import test_job
from test_job import MEMBER
from tools import BIN, LIMIT_S, Watched, run

FALSE_SSH = pathlib.Path(__file__).with_name("false_ssh.sh")
FAILED = 1
SILENCE_S = "5"  # longer than a host takes to start that has hardly a processor


class HostsTest(test_job.JobTest):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.environment = {"EXS_RUN_RSH": f"sh {FALSE_SSH}", "EXS_FALSE_SSH": str(self.folder)}

    def run_on(self, hosts, *words, **environment):
        return run("exs-run", "--hosts", hosts, *words, **self.environment, **environment)

    def start_on(self, hosts, *words, **environment):
        return self.start("--hosts", hosts, *words, stderr=subprocess.PIPE,
                          env={**os.environ, **self.environment, **environment})

    def fifo(self, name="first"):
        path = self.folder / name
        if not path.exists():
            os.mkfifo(path)
        return str(path)

    def pid_of(self, name):
        return int((self.folder / name).read_text())

    def start_waiting(self, hosts, size, *steps, options=(), **environment):
        """A job whose members have joined, and descriptors of their processes by rank."""
        launcher = self.start_on(hosts, *options, "--tag", MEMBER, *steps, "card=x", "pid", "wait", **environment)
        descriptors = {}
        while len(descriptors) < size:
            tag, word, *rest = launcher.stdout.readline().split()
            if word == "pid":
                descriptors[int(tag[1:-1])] = os.pidfd_open(int(rest[0]))
        for descriptor in descriptors.values():
            self.addCleanup(os.close, descriptor)
        return launcher, descriptors

    def assert_all_end(self, descriptors):
        for descriptor in descriptors:
            self.assertTrue(select.select([descriptor], [], [], LIMIT_S)[0], "a member has outlived its job")

    def assert_fails(self, launcher, *errors, status=FAILED):
        _, text = launcher.communicate(timeout=LIMIT_S)
        self.assertEqual(launcher.returncode, status, text)
        for line, pattern in zip(text.splitlines(), errors, strict=True):
            self.assertRegex(line, pattern)


class Together(HostsTest):
    def test_each_gets_the_cards_of_all(self):
        for words, size in ((("a:3,b,c:4",), 8), (("a:3,b:3", "-n", "5"), 5), (("a:2,b:2", "-n2"), 2), (("localhost:2,b",), 3)):
            with self.subTest(words=words):
                done = self.run_on(*words, MEMBER, "card=of {rank} in {size}", "leave")
                self.assert_ends(done, 0)
                cards = ",".join(f"of {rank} in {size}" for rank in range(size))
                self.assertEqual(sorted(done.stdout.splitlines()), sorted(f"{rank} cards {cards}" for rank in range(size)))

    def test_hosts_of_a_file(self):
        file = self.folder / "hosts"
        file.write_text("# the first\na slots=2\n\n b:1  # the second\nc\n")
        done = run("exs-run", "--hostfile", str(file), MEMBER, "card={rank}", "leave", **self.environment)
        self.assert_ends(done, 0)
        self.assertEqual(done.stdout.count("cards 0,1,2,3\n"), 4)
        self.assertEqual({path.name for path in self.folder.glob("*.pid")}, {"a.pid", "b.pid", "c.pid"})

    def test_exchanges_follow_each_other_and_may_be_long(self):
        text = "x" * 4000
        done = self.run_on("a:40,b:40", MEMBER, f"card={text}", "card=b{rank}", "leave")
        self.assert_ends(done, 0)
        for line in done.stdout.splitlines():
            self.assertIn(line.split(maxsplit=2)[2], (",".join([text] * 80), ",".join(f"b{rank}" for rank in range(80))))

    def test_the_key_is_one_and_in_no_argument_and_no_environment(self):
        show = ("cat /proc/self/environ /proc/self/cmdline /proc/$PPID/environ /proc/$PPID/cmdline | tr '\\0' '\\n' > $0.$EXM_RANK;"
                " exec \"$1\" key leave")
        done = self.run_on("a,b", "sh", "-c", show, str(self.folder / "shown"), MEMBER)
        self.assert_ends(done, 0)
        keys = set(done.stdout.split()) - {"key"}
        self.assertEqual(len(keys), 1)
        for rank in (0, 1):
            shown = (self.folder / f"shown.{rank}").read_text()
            self.assertIn("--agent", shown)
            self.assertNotIn(keys.copy().pop(), shown)

    def test_folder_and_environment_are_those_of_exs_run(self):
        done = subprocess.run([BIN / "exs-run", "--hosts", "a,b", "sh", "-c", 'echo "$(pwd) $EXS_MARK"'], cwd=self.folder,
                              capture_output=True, text=True, timeout=LIMIT_S, check=True,
                              env={**os.environ, **self.environment, "EXS_MARK": "a b\nc"})
        self.assertEqual(done.stdout, f"{self.folder} a b\nc\n" * 2)

    def test_arguments_may_hold_anything(self):
        odd = "a 'b' \"c\"\n$HOME;\\"
        self.assertEqual(self.run_on("a", "printf", "%s|", odd, "").stdout, f"{odd}||\n")

    def test_rank_0_has_the_input(self):
        text = "".join(f"line {i}\n" for i in range(50000))
        done = subprocess.run([BIN / "exs-run", "--hosts", "a,b", "sh", "-c", "cat; echo end"], input=text, capture_output=True,
                              text=True, timeout=LIMIT_S, check=True, env={**os.environ, **self.environment})
        self.assertEqual(sorted(done.stdout.splitlines()), sorted(text.splitlines() + ["end", "end"]))

    def test_input_that_nobody_reads_is_in_nobodys_way(self):
        done = subprocess.run([BIN / "exs-run", "--hosts", "a,b", "sh", "-c", "exec <&-; echo end"], input="x" * 1000000,
                              capture_output=True, text=True, timeout=LIMIT_S, check=True, env={**os.environ, **self.environment})
        self.assertEqual(done.stdout, "end\nend\n")


class Usage(HostsTest):
    def test_what_are_no_hosts(self):
        for hosts in (",", "a,,b", "a:0", "a:-1", "a:x", "a:", ":3", "a:70000", "-oProxyCommand=x", "a b", "a:40000,b:40000"):
            with self.subTest(hosts=hosts):
                done = self.run_on(hosts, "-n", "1", "--", "true")
                self.assertEqual(done.returncode, 2, done.stderr)
        for words in (("--hosts", "a", "-n", "2", "true"), ("--hosts", "a", "--hostfile", "x", "true"), ("--hosts", "a", "--check", "true"),
                      ("--agent", "true"), ("--agent", "-n", "2"), ("--hosts", "a")):
            with self.subTest(words=words):
                done = run("exs-run", *words, **self.environment)
                self.assertEqual(done.returncode, 2)
                self.assert_one_line(done.stderr, "exs-run", "--help")

    def test_files_that_are_none(self):
        file = self.folder / "hosts"
        for text in ("", "# none\n", "a slots=0\n", "a slots=\n", "a slots=2 more\n", "a 2\n"):
            file.write_text(text)
            self.assertEqual(run("exs-run", "--hostfile", str(file), "true").returncode, 2, text)
        self.assert_ends(run("exs-run", "--hostfile", str(self.folder / "none"), "true"), FAILED, "cannot read .*No such file")

    def test_what_cannot_run(self):
        self.assert_ends(self.run_on("a,b", "no-such-program-anywhere"), 127, "host [ab]: no-such-program-anywhere: not found in PATH")
        self.assert_ends(self.run_on("a,b", "/"), 126, "cannot execute /: ")

    def test_what_starts_no_agent(self):
        self.environment["EXS_RUN_RSH"] = "false"
        self.assert_ends(self.run_on("a", "true"), FAILED, "host a has gone")
        self.environment["EXS_RUN_RSH"] = "/no/such/program"
        self.assert_ends(self.run_on("a", "true"), FAILED, "cannot execute /no/such/program", "host a has gone")
        self.environment["EXS_RUN_RSH"] = " "
        self.assert_ends(self.run_on("a", "true"), FAILED, "EXS_RUN_RSH names no program")

    def test_a_host_that_babbles(self):
        self.assert_ends(self.run_on("a,babbling", MEMBER, "card=x", "wait"), FAILED, "host babbling says what means nothing here.*; ending the others")

    def test_seconds_that_are_none(self):
        for words in ("0", "x", "1x", "-1", "86401"):
            self.assert_ends(self.run_on("a", "true", EXS_RUN_SILENCE=words), FAILED, "EXS_RUN_SILENCE")
        self.assert_ends(self.run_on("a", "true", EXS_RUN_SILENCE=""), 0)  # as if it were unset

    def test_an_agent_without_an_exs_run(self):
        for text in ("", "nonsense\n", "job 3\nx y", "job 7\n9 1 0 5", "job 7\n1 1 0 5start 1\n0", "x" * 100000):
            done = subprocess.run([BIN / "exs-run", "--agent"], input=text, capture_output=True, text=True, timeout=LIMIT_S, check=False)
            self.assertEqual((done.returncode, done.stdout), (FAILED, "agent 1\n1"))


class Ends(HostsTest):
    def test_a_status_ends_the_others(self):
        for rank in (0, 2):
            self.assert_ends(self.run_on("a:2,b:2", MEMBER, "card=x", f"{rank}:exit=3", "wait"), 3, f"rank {rank} ended with status 3; ending the others")

    def test_a_signal_ends_the_others(self):
        self.assert_ends(self.run_on("a:2,b:2", MEMBER, "card=x", "3:kill=9", "wait"), 128 + 9, "rank 3 was ended by signal 9 .*; ending the others")

    def test_who_ignores_sigterm_is_killed(self):
        self.assert_ends(self.run_on("a,b,c", MEMBER, "ignore=15", "card=x", "1:exit=5", "wait"), 5, "rank 1 ended with status 5")

    def test_keep_going(self):
        done = self.run_on("a:2,b:3", "--keep-going", MEMBER, "card=x", "1:kill=9", "2:deaths=1", "2:exit=3", "deaths=2", "leave")
        self.assert_ends(done, 128 + 9, "rank 1 was ended by signal 9 [^;]*$", "rank 2 ended with status 3$")
        for rank in (0, 3, 4):
            self.assertIn(f"{rank} deaths 1,2\n", done.stdout)

    def test_abort(self):
        self.assert_ends(self.run_on("a:2,b:2", MEMBER, "card=x", "2:abort=7", "wait"), 7, "rank 2 ends the job with 7")

    def test_words_without_meaning(self):
        babble = "printf 'nonsense\\n' >&$EXM_BOOT_FD; read rest || :"
        script = f'if [ $EXM_RANK = 1 ]; then {babble}; else exec "$0" deaths=1 leave; fi'
        done = self.run_on("a,b", "sh", "-c", script, MEMBER)
        self.assert_ends(done, 0, "rank 1 says what means nothing")
        self.assertEqual(done.stdout, "0 deaths 1\n")

    def test_sigterm_and_sigint_end_all(self):
        for number in (signal.SIGTERM, signal.SIGINT):
            launcher, members = self.start_waiting("a:2,b:2", 4)
            launcher.send_signal(number)
            self.assert_fails(launcher, status=128 + number)
            self.assert_all_end(members.values())

    def test_a_terminal_shows_hosts_that_do_not_answer_and_a_signal_does_not_wait_for_them(self):
        for number, hosts, names in ((signal.SIGINT, "a:2,mute", b"waiting for mute"), (signal.SIGTERM, "mute", b"waiting for mute"),
                                     (signal.SIGINT, "mute1,mute2,a,mute3,mute4,mute5", b"waiting for mute1, mute2, mute3 and 2 more")):
            with self.subTest(hosts=hosts, number=number):
                launcher = Watched("exs-run", "--hosts", hosts, "sleep", "3000", env={**os.environ, **self.environment})
                self.addCleanup(launcher.kill)
                launcher.wait_for_progress(names)
                launcher.process.send_signal(number)
                output, errors, status = launcher.finish()
                self.assertEqual((status, output), (128 + number, ""))
                self.assertRegex(errors, "^exs-run: host mute1? has not answered")

    def test_a_terminal_shows_nothing_once_all_hosts_answer(self):
        launcher = Watched("exs-run", "--hosts", "a,b", MEMBER, "card=x", "leave", env={**os.environ, **self.environment})
        self.addCleanup(launcher.kill)
        self.assertEqual(launcher.finish()[1:], ("", 0))

    def test_when_exs_run_is_killed_nothing_is_left(self):
        launcher, members = self.start_waiting("a:2,b:2", 4, "ignore=15")
        launcher.kill()
        self.assert_all_end(members.values())

    def test_an_agent_that_is_killed(self):
        launcher, members = self.start_waiting("a:2,b:2", 4)
        os.kill(self.pid_of("b.pid"), signal.SIGKILL)
        self.assert_fails(launcher, "host b has gone; ending the others")
        self.assert_all_end(members.values())

    def test_an_agent_whose_processes_have_ended_is_not_missed(self):
        launcher = self.start_on("a,b", MEMBER, "card=x", "1:exit=0", "deaths=1", f"touch={self.fifo()}", f"touch={self.fifo('second')}", "leave")
        with open(self.fifo(), "rb") as opened:
            opened.read()
        os.kill(self.pid_of("b.pid"), signal.SIGKILL)
        with open(self.fifo("second"), "rb") as opened:
            opened.read()
        self.assert_fails(launcher, status=0)

    def test_others_go_on_without_an_agent(self):
        launcher = self.start_on("a:2,b:2", "--keep-going", MEMBER, "card=x", "0:deaths=2", "1:deaths=2", "0:leave", "1:leave",
                                 "2:pid", "3:pid", "2:wait", "3:wait")
        for _ in range(6):
            launcher.stdout.readline()  # all have joined, and rank 2 and 3 wait
        os.kill(self.pid_of("b.pid"), signal.SIGKILL)
        output, errors = launcher.communicate(timeout=LIMIT_S)
        self.assertEqual(sorted(output.splitlines()), ["0 deaths 2,3", "1 deaths 2,3"])
        self.assertRegex(errors, "^exs-run: host b has gone\n$")
        self.assertEqual(launcher.returncode, FAILED)

    def test_a_connection_that_breaks(self):
        for end in ("in", "out"):
            with self.subTest(end=end):
                launcher, members = self.start_waiting("relayed:2,a:2", 4)
                os.kill(self.pid_of(f"relayed.{end}"), signal.SIGTERM)
                self.assert_fails(launcher, "host relayed has gone; ending the others")
                self.assert_all_end(members.values())

    def test_a_host_that_is_silent(self):
        launcher, members = self.start_waiting("a:2,b:2", 4, EXS_RUN_SILENCE=SILENCE_S)
        os.kill(self.pid_of("b.pid"), signal.SIGSTOP)
        self.assert_fails(launcher, "host b has been silent for too long; ending the others")
        self.assert_all_end(members.values())

    def test_an_exs_run_that_is_silent(self):
        launcher, members = self.start_waiting("a:2,b:2", 4, EXS_RUN_SILENCE=SILENCE_S)
        launcher.send_signal(signal.SIGSTOP)
        self.assert_all_end(members.values())
        launcher.send_signal(signal.SIGCONT)
        launcher.communicate(timeout=LIMIT_S)
        self.assertNotEqual(launcher.returncode, 0)


class Output(HostsTest):
    def test_lines_are_whole_and_in_order(self):
        for options in ((), ("--tag",)):
            done = subprocess.run([BIN / "exs-run", "--hosts", "a:4,b:4", *options, MEMBER, "lines=200", "leave"], stdout=subprocess.PIPE,
                                  stderr=subprocess.STDOUT, text=True, timeout=LIMIT_S, check=True, env={**os.environ, **self.environment})
            test_job.Output.check_lines(self, done.stdout, 8, bool(options))

    LINES = test_job.Output.LINES

    def test_a_reader_that_is_slow_keeps_nobody_from_the_job(self):
        fifo = self.folder / "fifo"
        os.mkfifo(fifo)
        launcher = self.start_on("a:2,b:1", "--keep-going", MEMBER, "1:lines=20000", "2:kill=9", "0:deaths=1", f"0:touch={fifo}", "leave")
        with open(fifo, "rb") as opened:  # by then rank 0 has heard of the death, and nobody has read a line
            self.assertEqual(opened.read(), b"")
        output = launcher.communicate(timeout=LIMIT_S)[0]
        self.assertEqual(launcher.returncode, 128 + 9)
        self.assertEqual(output.count("1 line "), 10000)

    def test_a_reader_that_goes_is_missed_by_the_writers(self):
        launcher = self.start_on("a,b", "sh", "-c", "exec yes")
        self.assertEqual(launcher.stdout.readline(), "y\n")
        launcher.stdout.close()
        launcher.stdout = None
        self.assertEqual(launcher.wait(LIMIT_S), 128 + signal.SIGPIPE)


@unittest.skipUnless(os.geteuid() == 0 and shutil.which("ip"), "needs the right to make network namespaces")
class Networks(HostsTest):
    """Each host has a network of its own, and a cable leads from one to the other."""

    def setUp(self):
        super().setUp()
        self.environment["EXS_FALSE_SSH_NET"] = str(os.getpid())
        for number in (1, 2):
            name = self.name(number)
            if subprocess.run(["ip", "netns", "add", name], capture_output=True, check=False).returncode != 0:
                self.skipTest("ip makes no network namespace here")
            self.addCleanup(subprocess.run, ["ip", "netns", "delete", name], check=True)
            self.inside(number, "ip", "link", "set", "lo", "up")
        self.connect()

    def connect(self):
        subprocess.run(["ip", "-n", self.name(1), "link", "add", "cable", "type", "veth", "peer", "name", "cable", "netns", self.name(2)],
                       check=True)
        for number in (1, 2):
            self.inside(number, "ip", "address", "add", f"10.77.0.{number}/24", "dev", "cable")
            self.inside(number, "ip", "link", "set", "cable", "up")

    @staticmethod
    def name(number):
        return f"exs-{os.getpid()}-net{number}"

    def inside(self, number, *command):
        subprocess.run(["ip", "netns", "exec", self.name(number), *command], check=True)

    def test_ranks_of_two_networks_pass_a_number_round(self):
        for provider in ("auto", "iwarp"):
            with self.subTest(provider=provider):
                done = self.run_on("net1:2,net2:2", BIN / "ring", EXS_PROVIDER=provider)
                self.assertEqual((done.returncode, done.stdout), (0, "4 ranks; the number came from rank 3\n"), done.stderr)

    def test_a_bridge_that_has_one_address_on_both_leads_to_neither(self):
        # Docker makes one like that on each host, before any cable.
        for number in (1, 2):
            subprocess.run(["ip", "-n", self.name(number), "link", "delete", "cable"], capture_output=True, check=False)
            self.inside(number, "ip", "link", "add", "docker0", "type", "bridge")
            self.inside(number, "ip", "address", "add", "172.17.0.1/16", "dev", "docker0")
            self.inside(number, "ip", "link", "add", "inner", "type", "veth", "peer", "name", "outer")
            self.inside(number, "ip", "link", "set", "outer", "master", "docker0", "up")
            for name in ("inner", "docker0"):
                self.inside(number, "ip", "link", "set", name, "up")
        self.connect()
        done = self.run_on("net1:2,net2:2", BIN / "ring")
        self.assertEqual((done.returncode, done.stdout), (0, "4 ranks; the number came from rank 3\n"), done.stderr)

    def test_a_death_is_told_across_the_cable(self):
        done = self.run_on("net1:2,net2:2", "--keep-going", os.environ["EXS_JOB_RANK"], "survive")
        self.assertEqual(sorted(done.stdout.splitlines()), ["0 survived", "2 survived", "3 survived"], done.stderr)
        self.assertEqual(done.returncode, 128 + signal.SIGKILL)


if __name__ == "__main__":
    unittest.main()
