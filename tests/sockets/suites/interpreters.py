# SPDX-License-Identifier: BSD-2-Clause
"""Suites of other languages, whose tests are scripts."""
import os
import re
import shutil

from suite import Packaged, finish

LIMIT_S = 120


class Node(Packaged):
    """Node.js's own tests, file by file, with Debian's program of the same version. That program is mounted over /usr
    for each test, in a mount namespace of its own. The system may have another node there, and many of Debian's paths
    are built in."""
    name, package = "node", "nodejs"
    LAID_OVER = 'mount -t overlay -o "lowerdir=$0/usr:/usr" usr /usr && exec /usr/bin/node "$@"'

    def parts(self):
        return ["net", "http", "https", "tls", "dgram", "cluster"]

    def flags(self, path):
        return " ".join(re.findall(r"^// Flags:(.*)", path.read_text(encoding="utf-8"), re.MULTILINE)).split()

    def run(self, part, environment, log, only):
        results = {}
        unshare = ["unshare", "--mount", *([] if os.geteuid() == 0 else ["--map-root-user"])]
        for path in sorted((self.source / "test/parallel").glob(f"test-{part}-*.js")):
            if only and only != path.name:
                continue
            log.write(f"== {path.name}\n".encode())
            ended, told = finish([*unshare, "sh", "-c", self.LAID_OVER, self.build, *self.flags(path), path],
                                 {**environment, "NODE_TEST_DIR": str(self.folder)}, log, self.folder, LIMIT_S)
            results[path.name] = "skipped" if ended == "ok" and told.startswith("1..0 # Skipped") else ended
        return results


class Perl(Packaged):
    """Tests of Perl's modules and calls, with the installed Perl."""
    name, package = "perl", "perl"
    FOLDERS = {"Socket": "cpan/Socket/t", "IO": "dist/IO/t", "IO-Socket-IP": "cpan/IO-Socket-IP/t", "libnet": "cpan/libnet/t", "core": "t/io"}
    CORE = {"socket", "socketpair", "pipe", "dup", "closepid", "eintr", "eintr_print", "errno", "errnosig"}
    TEST = re.compile(r"^ *(ok|not ok) (\d+)(?:.*(# *(?:SKIP|TODO)))?", re.MULTILINE | re.IGNORECASE)

    def prepare(self):
        lack = super().prepare()
        if lack is None:
            for part, folder in self.FOLDERS.items():
                tests = self.folder / part / "t"
                shutil.copytree(self.source / folder, tests)
                for path in tests.glob("*.t") if part == "core" else []:
                    if path.stem not in self.CORE:
                        path.unlink()
                for common in (self.source / "t").glob("*.pl"):
                    shutil.copy(common, tests)
                # The tests search modules where Perl is built, but these are installed.
                with open(tests / "test.pl", "a", encoding="latin-1") as common:
                    common.write("\nsub set_up_inc {}\n1;\n")
        return lack

    def parts(self):
        return list(self.FOLDERS)

    def run(self, part, environment, log, only):
        results, folder = {}, self.folder / part
        for path in sorted(folder.glob("t/*.t")):
            if only and only.split(":")[0] != path.name:
                continue
            log.write(f"== {path.name}\n".encode())
            results[path.name], told = finish(["/usr/bin/perl", f"t/{path.name}"], environment, log, folder, LIMIT_S)
            results |= {f"{path.name}:{number}": f"{result} {why}".strip() for result, number, why in self.TEST.findall(told)}
        return results


class Ruby(Packaged):
    """Ruby's own tests, with the installed Ruby and the tests' own runner."""
    name, package = "ruby", "ruby3.1"
    RUBY = "/usr/bin/ruby3.1"
    FOLDERS = {"socket": "socket", "net": "net", "ssl": "openssl/test_ssl.rb", "drb": "drb", "open-uri": "open-uri"}

    def prepare(self):
        return super().prepare() if os.path.exists(self.RUBY) else f"not installed: {self.package}"

    def parts(self):
        return list(self.FOLDERS)

    def run(self, part, environment, log, only):
        chosen = [f"--name={only}"] if only else []
        told = finish([self.RUBY, "-I", self.source / "tool/lib", self.source / "test/runner.rb", "-v", *chosen,
                       self.source / "test" / self.FOLDERS[part]], environment, log, self.folder)[1]
        results = dict.fromkeys(re.findall(r"^\[ *\d+/\d+\] (\S+#\S+) = [\d.]+ s$", told, re.MULTILINE), "ok")
        return results | {test: result for result, test in re.findall(r"^ +\d+\) (\w+):\n(\S+#\S+)", told, re.MULTILINE)}
