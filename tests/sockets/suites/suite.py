# SPDX-License-Identifier: BSD-2-Clause
"""The common parts of all suites."""
import atexit
import os
import pathlib
import shutil
import subprocess
import tempfile

HERE = pathlib.Path(__file__).parent
LIMIT_S = 400
NONE = "no result"


def finish(command, environment, log, folder, limit_s=LIMIT_S):
    """Returns how the command ended, and its output, which also goes to the log. After the time limit it is ended with
    all its processes."""
    ended = ""
    with tempfile.TemporaryFile() as output:
        with subprocess.Popen(command, env=environment, cwd=folder, stdin=subprocess.DEVNULL, stdout=output,
                              stderr=subprocess.STDOUT, start_new_session=True) as process:
            try:
                process.wait(limit_s)
            except subprocess.TimeoutExpired:
                ended = f"ended after {limit_s} s"
                log.write(f"{ended}\n".encode())
            finally:
                try:
                    os.killpg(process.pid, 9)
                except ProcessLookupError:
                    pass
        output.seek(0)
        text = output.read()
    log.write(text)
    return ended or ("ok" if process.returncode == 0 else f"status {process.returncode}"), text.decode(errors="replace")


def run(command, environment, log, folder):
    """Returns the output of a command."""
    return finish(command, environment, log, folder)[1]


class Suite:
    """A suite has a name. prepare() returns what is missing. parts() are independent runs."""

    def prepare(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="exs-suites-"))
        atexit.register(shutil.rmtree, self.folder, True)
        self.folder.chmod(0o755)
        return None

    def place(self, library):
        """Copies the library to a place that any user may read."""
        return pathlib.Path(shutil.copy(library, self.folder))

    def parts(self):
        return ["all"]


class Packaged(Suite):
    """A suite from a Debian source package, which build-source fetches: its source, and what is built or unpacked
    beside it."""

    def prepare(self):
        had = subprocess.run([HERE / "build-source", self.package], stdout=subprocess.PIPE, text=True, check=False)
        if had.returncode == 77:
            return f"no source of {self.package}"
        if had.returncode != 0:
            raise RuntimeError(f"{self.package} could not be built")
        super().prepare()
        self.build = pathlib.Path(had.stdout.strip())
        self.source = self.build.parent / "source"
        return None
