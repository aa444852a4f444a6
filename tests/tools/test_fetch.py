# SPDX-License-Identifier: BSD-2-Clause
"""exs-fetch against a server that says what it is told to, by TCP. By exs it fetches from Jetty: examples/run-Web.sh."""
import contextlib
import hashlib
import json
import pathlib
import signal
import socket
import tempfile
import threading
import unittest

from tools import ToolsTest, Watched, run

OK = b"HTTP/1.1 200 OK\r\n"


class Talker:
    """Answers each request with the next of its texts; None: it closes the connection, as it does behind the last. With `again` it
    answers with the first one until end()."""

    def __init__(self, *answers, again=False):
        self.again = again
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        self.requests = []
        self.connections = 0
        self.answers = list(answers)
        self.thread = threading.Thread(target=self.run, daemon=True)
        self.thread.start()

    def run(self):
        while self.answers:
            connection = self.listener.accept()[0]
            self.connections += 1
            with connection:
                self.talk(connection)
        self.listener.close()

    def talk(self, connection):
        while self.answers:
            request = b""
            while not request.endswith(b"\r\n\r\n"):
                more = connection.recv(4096)
                if not more:
                    return
                request += more
            self.requests.append(request.decode())
            answer = self.answers[0] if self.again else self.answers.pop(0)
            if answer is None:
                return
            connection.sendall(answer)

    def end(self):
        """After the last client has gone."""
        self.again = False
        self.answers.clear()
        with contextlib.suppress(ConnectionError):
            socket.create_connection(("127.0.0.1", self.port)).close()


def whole(body, *fields):
    return OK + b"".join(field + b"\r\n" for field in fields) + b"Content-Length: %d\r\n\r\n" % len(body) + body


class Fetch(ToolsTest):
    def talker(self, *answers):
        talker = Talker(*answers)
        self.addCleanup(talker.thread.join)
        return talker

    def fetch(self, talker, *options, path="/"):
        return run("exs-fetch", "--tcp", *options, f"http://127.0.0.1:{talker.port}{path}")

    def test_many_rounds_show_their_progress_on_a_terminal(self):
        talker = Talker(whole(b"x"), again=True)
        client = Watched("exs-fetch", "--tcp", "--json", "--repeat", "1000000000", f"http://127.0.0.1:{talker.port}/")
        self.addCleanup(client.kill)
        client.wait_for_progress(b" of 1.00 G rounds")
        client.process.send_signal(signal.SIGINT)
        output, errors, status = client.finish()
        self.assertEqual((status, errors), (130, ""))
        result = json.loads(output)
        self.assertTrue(result["interrupted"])
        self.assertGreater(result["files"][0]["fetches"], 0)
        talker.end()
        talker.thread.join()

    def assert_fails(self, done, *parts):
        self.assertEqual(done.returncode, 1, done.stdout)
        self.assert_one_line(done.stderr, "exs-fetch: ", *parts)

    def test_bodies_arrive_however_they_are_sent(self):
        text = "".join(f"line {i}\n" for i in range(20000))
        body = text.encode()
        chunked = b"".join(b"%x;name=value\r\n%s\r\n" % (len(body[at:at + 7777]), body[at:at + 7777]) for at in range(0, len(body), 7777))
        for answer in (whole(body), OK + b"transfer-encoding:  Chunked \r\n\r\n" + chunked + b"0\r\nTrailer: x\r\n\r\n",
                       b"HTTP/1.1 100 Continue\r\n\r\n" + whole(body), OK.replace(b"\r", b"") + b"Content-Length: %d\n\n" % len(body) + body):
            talker = self.talker(answer)
            done = self.fetch(talker, path="/a/b?c=d")
            self.assertEqual((done.returncode, done.stdout), (0, text), done.stderr)
            self.assertIn("GET /a/b?c=d HTTP/1.1\r\n", talker.requests[0])
            self.assertIn(f"Host: 127.0.0.1:{talker.port}\r\n", talker.requests[0])

    def test_a_body_without_a_length_ends_with_the_connection(self):
        for answer in (OK + b"Connection: close\r\n\r\nall of it", b"HTTP/1.0 200 OK\r\n\r\nall of it"):
            done = self.fetch(self.talker(answer))
            self.assertEqual((done.returncode, done.stdout), (0, "all of it"), done.stderr)

    def test_files_sums_and_repeats(self):
        with tempfile.TemporaryDirectory() as folder:
            target = pathlib.Path(folder, "file")
            talker = self.talker(*[whole(b"abc"), whole(b"defg")] * 3)
            urls = [f"127.0.0.1:{talker.port}/{name}" for name in "xy"]
            told = self.measure("exs-fetch", "--tcp", "--repeat", "3", "-o", target, *urls)
            self.assertEqual(target.read_bytes(), b"abcdefg")
            self.assertEqual([one["fetches"] for one in told["files"]], [3, 3])
            self.assertEqual(told["files"][1]["sha256"], hashlib.sha256(b"defg").hexdigest())
            self.assertEqual((talker.connections, told["retries"], told["provider"]), (1, 0, "tcp"))
        right, wrong = hashlib.sha256(b"abc").hexdigest(), "0" * 64
        self.assertEqual(self.fetch(self.talker(whole(b"abc")), "--verify", right).returncode, 0)
        self.assert_fails(self.fetch(self.talker(whole(b"abc")), "--verify", wrong), right, wrong)
        self.assert_fails(self.fetch(self.talker(whole(b"abc"), whole(b"abd")), "--repeat", "2", "--sums"), "changed")
        talker = self.talker(whole(b"abc"))
        self.assertEqual(self.fetch(talker, "--sums").stdout, f"{right}  http://127.0.0.1:{talker.port}/\n")

    def test_what_breaks_is_asked_again_where_that_is_wanted(self):
        self.assert_fails(self.fetch(self.talker(None)), "ended")
        self.assert_fails(self.fetch(self.talker(whole(b"abcdef")[:-1])), "within an answer")
        with socket.create_server(("127.0.0.1", 0)) as silent:
            self.assert_fails(run("exs-fetch", "--tcp", "--limit", "0.1", f"127.0.0.1:{silent.getsockname()[1]}"), "timed out")
        talker = self.talker(None, None, whole(b"abc"))
        done = self.fetch(talker, "--retry", "30")
        self.assertEqual((done.returncode, done.stdout), (0, "abc"), done.stderr)
        self.assertEqual(talker.connections, 3)
        with socket.create_server(("127.0.0.1", 0)) as gone:
            port = gone.getsockname()[1]
        self.assert_fails(run("exs-fetch", "--tcp", f"127.0.0.1:{port}"), "refused")
        self.assert_fails(run("exs-fetch", f"127.0.0.1:{port}"), "refused")

    def test_answers_that_are_none_are_told(self):
        for answer, part in ((b"hello\r\n\r\n", "hello"), (OK + b"no field\r\n\r\n", "colon"), (OK + b"Content-Length: -1\r\n\r\n", "length"),
                             (OK + b"Content-Length: 99999999999999999999\r\n\r\n", "length"), (OK + b"\r\n", "no length"),
                             (OK + b"Transfer-Encoding: gzip\r\n\r\n", "encoding"), (b"HTTP/1.1 abc\r\n\r\n", "status"),
                             (OK + b"Transfer-Encoding: chunked\r\n\r\nxyz\r\n", "chunk"), (OK + b"Transfer-Encoding: chunked\r\n\r\n1\r\nabc\r\n", "chunk"),
                             (OK + b"A: " + b"x" * 20000, "16 KiB"), (OK + b"A: b\r\n" * 1001 + b"\r\n", "1000 fields"),
                             (b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n", "404")):
            self.assert_fails(self.fetch(self.talker(answer)), part)

    def test_urls_that_are_none_are_refused(self):
        for url in ("https://host/", "http://", "host:port/", ":80/", "host:99999/", "host/with space", "exs-svc:///x"):
            self.assertEqual(run("exs-fetch", url).returncode, 2, url)
        self.assertEqual(run("exs-fetch", "--tcp", "exs-svc://name/").returncode, 2)
        self.assertEqual(run("exs-fetch", "--return", "host/").returncode, 2)
        for words, named in ((["--nonsense"], "--nonsense"), ([], "url is required")):  # a wrong word is told before a missing one
            done = run("exs-fetch", *words)
            self.assertEqual(done.returncode, 2)
            self.assert_one_line(done.stderr, named)

    def test_a_service_that_nobody_is(self):
        self.assert_fails(run("exs-fetch", "--limit", "0.1", "exs-svc://exs:" + "1" * 32 + "/"), "nobody is the service")
        with tempfile.NamedTemporaryFile() as names:
            self.assert_fails(run("exs-fetch", "exs-svc://name/", EXS_SERVICES=names.name), "name")


if __name__ == "__main__":
    unittest.main()
