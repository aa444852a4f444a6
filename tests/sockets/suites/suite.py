"""What all suites have in common."""
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
    """How it ended, and what it printed, which the log gets, too. One that takes too long is ended with all that it started."""
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
    """What it printed."""
    return finish(command, environment, log, folder)[1]


class Suite:
    """name; prepare() says what is missing; parts() are runs that can be made one without the other."""

    def prepare(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="exs-suites-"))
        atexit.register(shutil.rmtree, self.folder, True)
        self.folder.chmod(0o755)
        return None

    def place(self, library):
        """The library, where any user may read it."""
        return pathlib.Path(shutil.copy(library, self.folder))

    def parts(self):
        return ["all"]


class Packaged(Suite):
    """One from a Debian source package, which build-source fetches: its source, and what is built or unpacked beside it."""

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
