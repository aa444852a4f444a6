"""The suites: how each is run, and what it says of each test."""
import atexit
import os
import pathlib
import re
import shutil
import subprocess
import tempfile

HERE = pathlib.Path(__file__).parent
PYTHON = "/usr/bin/python3"
LIMIT_S = 400
NONE = "no result"


def run(command, environment, log, folder, limit_s=LIMIT_S):
    """What it printed to its standard output, which the log gets, too. One that takes too long is ended with all that it started."""
    with tempfile.TemporaryFile() as output:
        with subprocess.Popen(command, env=environment, cwd=folder, stdin=subprocess.DEVNULL, stdout=output,
                              stderr=subprocess.STDOUT, start_new_session=True) as process:
            try:
                process.wait(limit_s)
            except subprocess.TimeoutExpired:
                log.write(f"ended after {limit_s} s\n".encode())
            finally:
                try:
                    os.killpg(process.pid, 9)
                except ProcessLookupError:
                    pass
        output.seek(0)
        text = output.read()
    log.write(text)
    return text.decode(errors="replace")


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


class Python(Suite):
    name = "python"
    MODULES = ["socket", "ssl", "ftplib", "httplib", "httpservers", "smtplib", "poplib", "imaplib", "selectors", "select", "poll",
               "epoll", "subprocess", "multiprocessing_fork", "socketserver", "xmlrpc", "urllib2_localnet", "wsgiref"]

    def tests_folder(self):
        found = sorted(pathlib.Path("/usr/lib").glob("python3.*/test/test_socket.py"))
        return found[-1].parent if found else None

    def prepare(self):
        if self.tests_folder() is None:
            return "not installed: libpython3.11-testsuite"
        return super().prepare()

    def parts(self):
        modules = [f"test_{name}" for name in self.MODULES if (self.tests_folder() / f"test_{name}.py").exists()]
        asyncio = (self.tests_folder() / "test_asyncio").glob("test_*.py")
        return modules + sorted(f"test_asyncio.{path.stem}" for path in asyncio if "windows" not in path.name)

    def run(self, part, environment, log, only):
        results = self.folder / "results"
        results.unlink(missing_ok=True)
        run([PYTHON, str(HERE / "python_results.py"), str(results), f"test.{part}", *([only] if only else [])], environment, log,
            self.folder)
        lines = results.read_text(encoding="utf-8").splitlines() if results.exists() else []
        return dict(reversed(line.split(": ", 1)) for line in lines) or {"(all)": NONE}


class Built(Suite):
    """One that is built from its Debian source package."""

    def prepare(self):
        built = subprocess.run([HERE / "build-source", self.package], stdout=subprocess.PIPE, text=True, check=False)
        if built.returncode == 77:
            return f"no source of {self.package}"
        if built.returncode != 0:
            raise RuntimeError(f"{self.package} could not be built")
        super().prepare()
        self.build = pathlib.Path(built.stdout.strip())
        return None


class Libuv(Built):
    """Root may not run it, so nobody does."""
    name, package = "libuv", "libuv1"

    def prepare(self):
        lack = super().prepare()
        if lack is None:
            shutil.copytree(self.build.parent / "source/test", self.folder / "test")
            shutil.copy(self.build / "uv_run_tests_a", self.folder)
            if os.geteuid() == 0:
                for path in (self.folder, *self.folder.rglob("*")):
                    shutil.chown(path, "nobody")
        return lack

    def run(self, part, environment, log, only):
        user = ["setpriv", "--reuid=nobody", "--regid=nogroup", "--clear-groups"] if os.geteuid() == 0 else []
        told = run([*user, "./uv_run_tests_a", *([only] if only else [])], {**environment, "HOME": str(self.folder)}, log, self.folder)
        lines = re.findall(r"^(ok|not ok) \d+ - (\S+)( # SKIP)?", told, re.MULTILINE)
        return {test: "skipped" if skipped else result for result, test, skipped in lines}


class Libevent(Built):
    """Once for each way to wait that it knows."""
    name, package = "libevent", "libevent"
    WAITS = {"epoll": "", "changelist": "EVENT_EPOLL_USE_CHANGELIST", "poll": "EVENT_NOEPOLL", "select": "EVENT_NOEPOLL EVENT_NOPOLL"}

    def parts(self):
        return list(self.WAITS)

    def run(self, part, environment, log, only):
        told = run([self.build / "bin/regress", *([only] if only else [])],
                   {**environment, **{word: "yes" for word in self.WAITS[part].split()}}, log, self.folder)
        return {test: result for test, result in
                re.findall(r"^(\S+/\S+): .*?(OK|FAILED|SKIPPED|DISABLED)?$", told, re.MULTILINE)}


SUITES = {suite.name: suite for suite in (Python, Libuv, Libevent)}
