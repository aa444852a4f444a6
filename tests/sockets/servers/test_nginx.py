# SPDX-License-Identifier: BSD-2-Clause
"""nginx with curl, which fetches several files over one connection, and wrk."""
import pathlib
import random
import unittest

from servers import ServerTest, free_port

CONFIGURATION = """
daemon off; master_process off; worker_processes 1; pid {folder}/pid; error_log stderr error;
events {{ worker_connections 512; }}
http {{
  access_log off; sendfile {sendfile}; tcp_nopush {sendfile}; default_type text/plain; keepalive_requests 100000;
  client_body_temp_path {folder}/body; proxy_temp_path {folder}/proxy; fastcgi_temp_path {folder}/fastcgi;
  uwsgi_temp_path {folder}/uwsgi; scgi_temp_path {folder}/scgi;
  server {{ listen 127.0.0.1:{port}; root {folder}/files; }}
}}
"""
SIZES = (0, 1, 1024, 70_000, 3_000_000)


class Nginx(ServerTest):
    sendfile = "on"

    def play(self, environment):
        port = free_port()
        folder = self.folder()
        files = pathlib.Path(folder, "files")
        files.mkdir()
        for size in SIZES:
            (files / str(size)).write_bytes(random.Random(size).randbytes(size))
        settings = pathlib.Path(folder, "nginx.conf")
        settings.write_text(CONFIGURATION.format(folder=folder, port=port, sendfile=self.sendfile))
        server = self.start(["nginx", "-p", folder, "-c", settings], environment, port, folder)
        address = f"http://127.0.0.1:{port}"
        bodies, log = self.client(["curl", "-sS", *(f"{address}/{size}" for size in SIZES * 4)], environment)
        part, _ = self.client(["curl", "-sS", "-r", "1000-2500000", f"{address}/3000000"], environment)
        missing, _ = self.client(["curl", "-sS", "-o", "/dev/null", "-w", "%{http_code}", f"{address}/none"], environment)
        told, more = self.client(["wrk", "-t", "1", "-c", "16", "-d", "1", f"{address}/1024"], environment)
        self.assertIn(b"Requests/sec", told)
        self.assertNotIn(b"Socket errors", told)
        self.assertNotIn(b"Non-2xx", told)
        return (bodies, part, missing), log + more + server.end()

    def test_files_are_the_same(self):
        self.needs("nginx", "curl", "wrk")
        self.compare(self.play)

    def test_files_are_the_same_without_sendfile(self):
        self.needs("nginx", "curl", "wrk")
        self.sendfile = "off"
        self.compare(self.play)


if __name__ == "__main__":
    unittest.main()
