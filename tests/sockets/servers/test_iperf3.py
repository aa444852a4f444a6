"""iperf3 both ways, with several connections."""
import json
import unittest

from servers import ServerTest, free_port


class Iperf3(ServerTest):
    def play(self, environment):
        port = str(free_port())
        folder = self.folder()
        server = self.start(["iperf3", "-s", "-p", port], environment, int(port), folder)
        log = ""
        for direction in ([], ["-R"]):
            told, more = self.client(["iperf3", "-c", "127.0.0.1", "-p", port, "-t", "1", "-P", "3", "-l", "64K", "-J", *direction],
                                     environment)
            result = json.loads(told)
            self.assertNotIn("error", result)
            self.assertGreater(result["end"]["sum_received"]["bytes"], 1_000_000)
            self.assertGreaterEqual(result["end"]["sum_sent"]["bytes"], result["end"]["sum_received"]["bytes"])
            log += more
        return [], log + server.end()

    def test_bytes_arrive(self):
        self.needs("iperf3")
        self.compare(self.play)


if __name__ == "__main__":
    unittest.main()
