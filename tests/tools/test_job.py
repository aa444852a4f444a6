# SPDX-License-Identifier: BSD-2-Clause
"""exs-run -n: the processes of a job find each other and end together, and nothing is left of them. EXS_TOOLS is the folder
of the programs, EXS_JOB_MEMBER a process that does as its arguments say (job_member.cc), EXS_JOB_SIZE the size of a large job."""
import collections
import os
import pathlib
import re
import resource
import select
import signal
import subprocess
import sys
import tempfile
import unittest

from tools import BIN, LIMIT_S, ToolsTest, run

MEMBER = os.environ["EXS_JOB_MEMBER"]
SIZE = int(os.environ["EXS_JOB_SIZE"])
NO_JOB = 90


def job(size, *steps, options=()):
    return run("exs-run", "-n", str(size), *options, MEMBER, *steps)


class JobTest(ToolsTest):
    def assert_ends(self, done, status, *errors):
        """Each line of the standard error matches the pattern at its place."""
        self.assertEqual(done.returncode, status, f"{done.stdout}{done.stderr}")
        lines = done.stderr.splitlines()
        self.assertEqual(len(lines), len(errors), done.stderr)
        for line, pattern in zip(lines, errors):
            self.assertRegex(line, pattern)

    def start(self, *arguments, **options):
        process = subprocess.Popen([BIN / "exs-run", *arguments], stdout=subprocess.PIPE, text=True, **options)
        self.addCleanup(process.communicate)
        self.addCleanup(process.kill)
        return process


class Together(JobTest):
    def test_each_gets_the_cards_of_all(self):
        for size in (1, 4, SIZE // 4):
            with self.subTest(size=size):
                done = job(size, "card=of {rank}", "leave")
                self.assert_ends(done, 0)
                cards = ",".join(f"of {rank}" for rank in range(size))
                self.assertEqual(sorted(done.stdout.splitlines()), sorted(f"{rank} cards {cards}" for rank in range(size)))

    def test_many_with_few_descriptors(self):
        hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
        few = lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (100, hard))  # noqa: E731
        launcher = self.start("-n", str(SIZE), MEMBER, "card={rank}", "leave", preexec_fn=few)
        output = launcher.communicate(timeout=5 * LIMIT_S)[0]
        self.assertEqual(launcher.returncode, 0)
        cards = ",".join(map(str, range(SIZE)))
        self.assertEqual(sorted(output.splitlines()), sorted(f"{rank} cards {cards}" for rank in range(SIZE)))
        launcher = self.start("-n", "2", "sh", "-c", "ulimit -Sn", preexec_fn=few)
        self.assertEqual(launcher.communicate(timeout=LIMIT_S)[0], "100\n100\n")

    def test_exchanges_follow_each_other(self):
        done = job(3, "card=a{rank}", "card=b{rank}", "leave")
        self.assert_ends(done, 0)
        for rank in range(3):
            self.assertIn(f"{rank} cards a0,a1,a2\n", done.stdout)
            self.assertIn(f"{rank} cards b0,b1,b2\n", done.stdout)

    def test_the_key_is_that_of_the_job_and_of_no_other(self):
        first, second = job(4, "key", "leave").stdout.split("\n"), job(4, "key", "leave").stdout.split("\n")
        for lines in (first, second):
            self.assertEqual(len(set(lines[:4])), 1)
            self.assertRegex(lines[0], "^key [0-9a-f]{32}$")
        self.assertNotEqual(first, second)

    def test_the_key_is_in_no_argument_and_no_environment(self):
        show = "cat /proc/self/environ /proc/self/cmdline /proc/$PPID/environ /proc/$PPID/cmdline | tr '\\0' '\\n'; \"$0\" key leave"
        done = run("exs-run", "-n", "1", "sh", "-c", show, MEMBER)
        self.assert_ends(done, 0)
        key = re.search("^key ([0-9a-f]{32})$", done.stdout, re.MULTILINE)[1]
        self.assertEqual(done.stdout.count(key), 1)

    def test_a_wrapper_may_start_the_member(self):
        done = run("exs-run", "-n", "2", "sh", "-c", '"$0" "$@"; exit $?', MEMBER, "card={rank}", "leave")
        self.assert_ends(done, 0)
        self.assertEqual(sorted(done.stdout.splitlines()), ["0 cards 0,1", "1 cards 0,1"])

    def test_what_a_member_starts_is_in_no_job(self):
        done = job(1, "leave", "again=card=x")
        self.assert_ends(done, NO_JOB)
        self.assertEqual(done.stdout, "no job\n")

    def test_a_member_has_its_own_descriptors_alone(self):
        show = "import os; print(sorted(set(os.listdir('/proc/self/fd')) - {os.environ['EXM_BOOT_FD']}, key=int)[:4])"
        done = run("exs-run", "-n", "8", sys.executable, "-c", show)
        self.assert_ends(done, 0)
        for line in done.stdout.splitlines():
            self.assertRegex(line, r"^\['0', '1', '2', '\d+'\]$")  # the last is the folder's
        few = "import os; print(len(os.listdir('/proc/self/fd')))"
        self.assertEqual(run("exs-run", "-n", "3", sys.executable, "-c", few).stdout, "5\n5\n5\n")


class Arguments(JobTest):
    def test_rank_and_size_are_replaced(self):
        done = run("exs-run", "-n", "2", "--", "printf", "%s;", "a{rank}b{size}c{rank}", "{rank", "{Rank}{}", "{{rank}}")
        self.assert_ends(done, 0)
        self.assertEqual(sorted(done.stdout.splitlines()), [f"a{rank}b2c{rank};{{rank;{{Rank}}{{}};{{{rank}}};" for rank in (0, 1)])

    def test_each_way_to_write_the_number(self):
        for words in (("-n", "2"), ("-n2",), ("--processes", "2"), ("--processes=2",)):
            self.assertEqual(self.succeed("exs-run", *words, "echo", "-n", "{rank}").count("\n"), 2)

    def test_rank_0_has_the_input(self):
        done = subprocess.run([BIN / "exs-run", "-n", "3", "--tag", "sh", "-c", "cat; echo end"], input="a\nb\n",
                              capture_output=True, text=True, timeout=LIMIT_S, check=True)
        self.assertEqual(sorted(done.stdout.splitlines()), ["[0] a", "[0] b", "[0] end", "[1] end", "[2] end"])

    def test_bad_usage(self):
        for words in (("-n",), ("-n", "2"), ("-n", "0", "true"), ("-n", "-1", "true"), ("-n", "x", "true"), ("-n", "70000", "true"),
                      ("--tag", "true"), ("--keep-going", "true"), ("-n", "2", "--check", "true"), ("-n", "2", "--explain", "true"),
                      ("-n", "2", "--set", "ring=1M", "true"), ("-n", "2", "--library", "x", "true")):
            with self.subTest(words=words):
                done = run("exs-run", *words)
                self.assertEqual(done.returncode, 2)
                self.assert_one_line(done.stderr, "exs-run", "--help")

    def test_what_cannot_run(self):
        self.assert_ends(run("exs-run", "-n", "4", "no-such-program-anywhere"), 127, "not found")
        self.assert_ends(run("exs-run", "-n", "4", "/no/such/program"), 127, "cannot execute /no/such/program: No such file")
        self.assert_ends(run("exs-run", "-n", "4", "/"), 126, "cannot execute /: ")

    def test_more_than_the_limit_of_descriptors(self):
        few = lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (100, 100))  # noqa: E731
        launcher = self.start("-n", "64", "true", preexec_fn=few, stderr=subprocess.PIPE)
        errors = launcher.communicate(timeout=LIMIT_S)[1]
        self.assertEqual(launcher.returncode, 1)
        self.assert_one_line(errors, "64 processes", "limit is 100")


class Ends(JobTest):
    def test_a_status_ends_the_others(self):
        self.assert_ends(job(4, "card=x", "2:exit=3", "wait"), 3, "rank 2 ended with status 3; ending the others")
        self.assert_ends(job(4, "2:exit=3", "wait"), 3, "rank 2 ended with status 3; ending the others")

    def test_before_all_have_joined_too(self):
        self.assert_ends(job(4, "2:exit=3", "card=x", "wait"), 3, "rank 2 ended with status 3; ending the others")

    def test_a_signal_ends_the_others(self):
        self.assert_ends(job(4, "card=x", f"0:kill={signal.SIGKILL:d}", "wait"), 128 + signal.SIGKILL,
                         "rank 0 was ended by signal 9 .*; ending the others")

    def test_who_ignores_sigterm_is_killed(self):
        self.assert_ends(job(4, f"ignore={signal.SIGTERM:d}", "card=x", "3:exit=5", "wait"), 5, "rank 3 ended with status 5")

    def test_the_others_hear_of_it_before(self):
        done = job(3, f"ignore={signal.SIGTERM:d}", "card=x", "1:exit=3", "deaths=1", "leave")
        self.assert_ends(done, 3, "rank 1 ended with status 3")
        self.assertIn("0 deaths 1\n", done.stdout)
        self.assertIn("2 deaths 1\n", done.stdout)

    def test_who_has_left_may_end_as_it_likes(self):
        done = job(4, "card=x", "leave", "1:exit=5")
        self.assert_ends(done, 5)

    def test_who_ends_well_without_leaving_is_told_and_ends_nobody(self):
        done = job(3, "card=x", "1:exit=0", "deaths=1", "leave")
        self.assert_ends(done, 0)
        self.assertEqual(sorted(done.stdout.splitlines())[1::2], ["0 deaths 1", "2 cards x,x,x"])
        self.assertIn("2 deaths 1\n", done.stdout)

    def test_who_gives_its_boot_up_is_told_while_it_goes_on(self):
        with tempfile.TemporaryDirectory() as folder:
            fifo = pathlib.Path(folder, "fifo")
            os.mkfifo(fifo)
            script = f'if [ $EXM_RANK = 1 ]; then "$0" card=x; cat {fifo}; else exec "$0" card=x deaths=1 touch={fifo} leave; fi'
            done = run("exs-run", "-n", "2", "sh", "-c", script, MEMBER)
        self.assert_ends(done, 0)
        self.assertIn("0 deaths 1\n", done.stdout)

    def test_who_never_joins_has_an_empty_card(self):
        done = job(3, "1:exit=0", "card={rank}", "leave")
        self.assert_ends(done, 0)
        self.assertEqual(sorted(done.stdout.splitlines()), ["0 cards 0,,2", "2 cards 0,,2"])

    def test_who_has_left_early_has_an_empty_card(self):
        done = job(3, "card={rank}", "0:leave", "0:exit=0", "card={rank}", "leave")
        self.assert_ends(done, 0)
        self.assertIn("1 cards ,1,2\n", done.stdout)

    def test_keep_going(self):
        done = job(5, "card=x", f"1:kill={signal.SIGKILL:d}", "2:deaths=1", "2:exit=3", "deaths=2", "leave", options=["--keep-going"])
        self.assert_ends(done, 128 + signal.SIGKILL, "rank 1 was ended by signal 9 [^;]*$", "rank 2 ended with status 3$")
        for rank in (0, 3, 4):
            self.assertIn(f"{rank} deaths 1,2\n", done.stdout)

    def test_abort(self):
        for code, status in ((7, 7), (0, 0), (-1, 255)):
            with self.subTest(code=code):
                done = job(4, "card=x", f"2:abort={code}", "wait")
                self.assert_ends(done, status, f"rank 2 ends the job with {code}")

    def test_abort_ends_those_who_keep_going(self):
        done = job(4, "card=x", "2:abort=7", "wait", options=["--keep-going"])
        self.assert_ends(done, 7, "rank 2 ends the job with 7")

    def test_words_without_meaning(self):
        """Such a member is alone from then on."""
        babble = "printf \"$1\" >&$EXM_BOOT_FD; eval \"exec $EXM_BOOT_FD>&-\"; read rest || :"
        for words in ("nonsense\\n", "card a\\ncard b\\n", "abort\\n", "abort x\\n", "\\n"):
            with self.subTest(words=words):
                script = f'if [ $EXM_RANK = 1 ]; then {babble}; else exec "$0" deaths=1 leave; fi'
                done = run("exs-run", "-n", "2", "sh", "-c", script, MEMBER, words)
                self.assert_ends(done, 0, "rank 1 says what means nothing")
                self.assertEqual(done.stdout, "0 deaths 1\n")


class Output(JobTest):
    LINES = 200

    def check_lines(self, text, size, tag):
        found = collections.defaultdict(list)
        for line in text.splitlines():
            match = re.fullmatch(r"(\[\d+\] )?(\d+) line (\d+) (x+)", line)
            self.assertIsNotNone(match, line[:100])
            self.assertEqual(match[1], f"[{match[2]}] " if tag else None)
            self.assertEqual(len(match[4]), 9000 if int(match[3]) % 10 == 0 else 30)
            found[int(match[2]), int(match[3]) % 2].append(int(match[3]))
        self.assertEqual(len(found), 2 * size)
        for (_, stream), numbers in found.items():
            self.assertEqual(numbers, list(range(stream, self.LINES, 2)))

    def test_lines_are_whole_and_in_order(self):
        for options in ((), ("--tag",)):
            launcher = self.start("-n", "12", *options, MEMBER, f"lines={self.LINES}", "leave", stderr=subprocess.STDOUT)
            self.check_lines(launcher.communicate(timeout=LIMIT_S)[0], 12, bool(options))
            self.assertEqual(launcher.returncode, 0)

    def test_a_reader_that_is_slow_keeps_nobody_from_the_job(self):
        with tempfile.TemporaryDirectory() as folder:
            fifo = pathlib.Path(folder, "fifo")
            os.mkfifo(fifo)
            launcher = self.start("-n", "3", "--keep-going", MEMBER, "1:lines=20000", f"2:kill={signal.SIGKILL:d}", "0:deaths=1",
                                  f"0:touch={fifo}", "leave", stderr=subprocess.DEVNULL)
            with open(fifo, "rb") as opened:  # by then rank 0 has heard of the death, and nobody has read a line
                self.assertEqual(opened.read(), b"")
            output = launcher.communicate(timeout=LIMIT_S)[0]
        self.assertEqual(launcher.returncode, 128 + signal.SIGKILL)
        self.assertEqual(output.count("1 line "), 10000)

    def test_a_reader_that_goes_is_missed_by_the_writers(self):
        launcher = self.start("-n", "3", "sh", "-c", "exec yes", stderr=subprocess.DEVNULL)
        self.assertEqual(launcher.stdout.readline(), "y\n")
        launcher.stdout.close()
        launcher.stdout = None
        self.assertEqual(launcher.wait(LIMIT_S), 128 + signal.SIGPIPE)

    def test_a_last_line_gets_its_end(self):
        self.assertEqual(sorted(self.succeed("exs-run", "-n", "2", "--tag", "printf", "a\nb").splitlines()),
                         ["[0] a", "[0] b", "[1] a", "[1] b"])

    def test_a_line_that_never_ends_is_cut(self):
        script = "head -c 5000000 /dev/zero | tr '\\0' x"
        output = self.succeed("exs-run", "-n", "1", "sh", "-c", script)
        self.assertEqual(output.count("x"), 5000000)
        self.assertGreater(output.count("\n"), 1)

    def test_standard_descriptors_may_be_closed(self):
        done = subprocess.run(["sh", "-c", 'exec "$@" <&- >&- 2>&-', "sh", BIN / "exs-run", "-n", "3", MEMBER, "card=x", "leave",
                               "2:exit=4"], timeout=LIMIT_S, check=False)
        self.assertEqual(done.returncode, 4)


class Signals(JobTest):
    def setUp(self):
        # Whoever runs the tests in the background may have it ignored, and that is inherited.
        self.addCleanup(signal.signal, signal.SIGINT, signal.signal(signal.SIGINT, signal.default_int_handler))

    def start_waiting(self, size, *options):
        """A job whose members have joined, and their processes."""
        launcher = self.start("-n", str(size), MEMBER, *options, "card=x", "pid", "wait")
        pids = []
        while len(pids) < size:
            word = launcher.stdout.readline().split()
            if word[0] == "pid":
                pids.append(int(word[1]))
        return launcher, pids

    def assert_gone(self, pids):
        for pid in pids:
            with self.assertRaises(ProcessLookupError):
                os.kill(pid, 0)

    def test_sigterm_and_sigint_end_all(self):
        for number in (signal.SIGTERM, signal.SIGINT):
            launcher, pids = self.start_waiting(4)
            launcher.send_signal(number)
            self.assertEqual(launcher.wait(LIMIT_S), 128 + number)
            self.assert_gone(pids)

    def test_who_ignores_sigint_is_ended_with_the_others(self):
        launcher, pids = self.start_waiting(4, f"1:ignore={signal.SIGINT:d}")
        launcher.send_signal(signal.SIGINT)
        self.assertEqual(launcher.wait(LIMIT_S), 128 + signal.SIGINT)
        self.assert_gone(pids)

    def test_when_exs_run_is_killed_nothing_is_left(self):
        launcher, pids = self.start_waiting(4, f"ignore={signal.SIGTERM:d}")
        watched = select.poll()
        descriptors = [os.pidfd_open(pid) for pid in pids]
        for descriptor in descriptors:
            watched.register(descriptor, select.POLLIN)
        launcher.kill()
        launcher.wait(LIMIT_S)
        while descriptors:
            ended = [descriptor for descriptor, _ in watched.poll(LIMIT_S * 1000)]
            self.assertTrue(ended, "a member has outlived exs-run")
            for descriptor in ended:
                watched.unregister(descriptor)
                os.close(descriptor)
                descriptors.remove(descriptor)

    def test_signals_of_the_members_are_as_they_were(self):
        masks = "grep -E '^Sig(Blk|Ign)' /proc/self/status"
        outside = subprocess.run(["sh", "-c", masks], capture_output=True, text=True, check=True).stdout
        self.assertEqual(self.succeed("exs-run", "-n", "1", "sh", "-c", masks), outside)


if __name__ == "__main__":
    unittest.main()
