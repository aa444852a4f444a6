# SPDX-License-Identifier: BSD-2-Clause
"""redis-server, redis-cli and redis-benchmark."""
import unittest

from servers import ServerTest, free_port

SCRIPT = b"\n".join([
    b"SET word value", b"GET word", b"GET none", b"INCR number", b"INCRBY number 41", b"APPEND word -longer", b"STRLEN word",
    b"LPUSH list a b c d e", b"LRANGE list 0 -1", b"MULTI", b"SET inside 1", b"GET inside", b"EXEC", b"NOSUCHCOMMAND",
    b"SETRANGE large 300000 end", b"STRLEN large", b"GETRANGE large 299990 300010", b"EVAL \"return redis.call('GET', 'word')\" 0",
    *(b"SET key:%d %s" % (i, b"v" * (i * 37 % 9000)) for i in range(200)),
    *(b"GET key:%d" % i for i in range(200)), b"GET large", b"DBSIZE", b""])


class Redis(ServerTest):
    def play(self, environment):
        port = str(free_port())
        folder = self.folder()
        server = self.start(["redis-server", "--port", port, "--bind", "127.0.0.1", "--save", "", "--appendonly", "no", "--dir",
                             folder], environment, int(port), folder)
        answers, log = self.client(["redis-cli", "-p", port], environment, SCRIPT)
        for options in (["-c", "50", "-n", "10000"], ["-c", "20", "-n", "20000", "-P", "16", "-d", "600"]):
            table, more = self.client(["redis-benchmark", "-p", port, "-q", "--csv", "-t", "set,get,lpush", *options], environment)
            self.assertEqual(len([line for line in table.splitlines() if line.startswith((b'"SET', b'"GET', b'"LPUSH'))]), 3, table)
            log += more
        return answers, log + server.end()

    def test_answers_are_the_same(self):
        self.needs("redis-server", "redis-cli", "redis-benchmark")
        self.compare(self.play)


if __name__ == "__main__":
    unittest.main()
