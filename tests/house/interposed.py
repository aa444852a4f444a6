# SPDX-License-Identifier: BSD-2-Clause
"""libexs-sunrpc.so stands before functions of libtirpc, which has to call them through its table of symbols: built another way
(-Bsymbolic, hidden aliases), it would go past us, and each call would go by TCP without a word. Argument: libexs-sunrpc.so."""
import re
import subprocess
import sys

NEEDED = {"clnt_vc_create", "clnt_tli_create", "__rpc_setconf", "__rpc_endconf", "getnetconfigent"}


def output(*command):
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def names(text):
    """Without the versions that the linker writes behind them."""
    return {word.split("@")[0] for word in text.split()}


def main():
    ours = sys.argv[1]
    found = re.search(r"libtirpc\.so\.\d+ => (\S+)", output("ldd", ours))
    if found is None:
        print(f"{ours} does not load libtirpc")
        return 1
    libtirpc = found.group(1)
    exported = names(output("nm", "-D", "--defined-only", "--format=just-symbols", ours))
    theirs = names(output("nm", "-D", "--defined-only", "--format=just-symbols", libtirpc))
    called = {line.split()[4].split("@")[0] for line in output("readelf", "-rW", libtirpc).splitlines()
              if "R_" in line and len(line.split()) > 5}
    failures = [f"{name}: not exported by {ours}" for name in sorted(NEEDED - exported)]
    failures += [f"{name}: {libtirpc} does not call it through its table of symbols, so programs that are linked or run with "
                 "libexs-sunrpc.so do not come to exs by it; exs_sunrpc_attach() is what remains"
                 for name in sorted((exported & theirs | NEEDED) - called)]
    print("\n".join(failures) or f"{libtirpc} calls {', '.join(sorted(exported & theirs))} through its table")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
