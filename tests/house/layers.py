#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Includes obey the layer table of src/README.md: each folder includes only those named for it here."""
import pathlib
import re
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parent))
from rooms import files_of, has  # noqa: E402

ROOT = pathlib.Path(__file__).resolve().parents[2]

# What any folder above the providers may know of them.
PROVIDER_FACE = [f"src/provider/{name}.h" for name in ("provider", "company", "connector", "upgrade", "provider_set", "choice", "reason", "explanation")]

# What providers have in common.
PROVIDER_PARTS = [f"src/provider/{name}.h" for name in ("poller", "tag_source", "window_table", "posted_receives", "completion_queue", "countdown", "software_iwarp", "own_sockets")]

# What event/ may know of the protocol engine.
PROTO_FACE = [f"src/proto/{name}.h" for name in ("connection", "hello", "operation")]

# Of the preloaded library, what its lane between hosts needs as well; the rest of it is above that lane.
PRELOAD_PARTS = [f"sockets/preload/{name}.h" for name in ("kernel/raw", "kernel/spin", "kernel/log_line", "table/segment", "table/hidden")]

# Of base/, what needs neither the C++ library nor an object of base/ but check_failed() and clock_gettime(), of which the preloaded library
# has its own.
HEADERS_ALONE = [f"base/{name}.h" for name in ("annotations", "bytes", "check", "clock", "long_copy", "no_signals", "undo")]


def preload_rooms(*names):
    """The rooms of the preloaded library, from below: each sees itself and those before it."""
    below = ["sockets/settings/", "sockets/lane/", *HEADERS_ALONE]
    for name in names:
        below = [*below, f"sockets/{name}/"]
        if name.startswith("preload/"):
            yield f"sockets/{name}", below


# Rooms below which base/ is not, but for what users are given.
WITHOUT_BASE = ("include/", "examples", "sockets/")
# Folder -> what its files may include of ours (prefixes), besides base/. A folder not listed may include nothing of ours.
MAY_INCLUDE = {
    "base": ["base/"],
    "src/log": ["src/log/"],
    "src/wire": ["src/log/", "src/wire/"],
    "src/match": ["src/match/"],
    "src/boot": ["src/log/", "src/boot/"],
    "src/provider": ["src/log/", *PROVIDER_FACE, *PROVIDER_PARTS],
    "src/proto": ["src/log/", "src/wire/", "src/provider/provider.h", "src/proto/"],
    "event/engine": ["src/log/", "src/provider/poller.h", *PROVIDER_FACE, *PROTO_FACE, "event/engine/"],
    "event/stats": ["event/stats/"],
    "event/queue": ["src/log/", *PROVIDER_FACE, *PROTO_FACE, "event/engine/", "event/queue/", "exs/exs.h"],
    "event/session": ["src/log/", "src/wire/paths.h", *PROVIDER_FACE, *PROTO_FACE, "event/", "exs/exs.h"],
    "event/message": ["src/log/", *PROVIDER_FACE, *PROTO_FACE, "src/proto/slice_cursor.h", "src/match/", "event/", "exs/exs.h", "exs/msg.h"],
    "src/message": ["src/", "event/", "exs/exs.h", "exs/msg.h"],
    "src/api": ["src/", "event/", "exs/exs.h", "exs/cpp/peer_snapshot.hpp"],
    "sockets/settings": ["sockets/settings/"],
    "sockets/lane": ["sockets/lane/", "base/check.h"],
    # libexs is loaded, not linked: its header is for the types.
    "sockets/between": ["sockets/between/", "sockets/lane/", *PRELOAD_PARTS, *HEADERS_ALONE, "exs/exs.h"],
    **dict(preload_rooms("preload/kernel", "preload/table", "between", "preload/ends", "preload/meeting", "preload/detach", "preload/waits",
                         "preload/process", "preload/transfer", "preload/symbols")),
    "rpc/channel": ["exs/exs.h", "rpc/channel/"],
    "rpc/generator": ["rpc/generator/"],
    "rpc/fast": ["exs/exs.h", "exs/rpc.h", "rpc/channel/", "rpc/fast/"],
    "rpc/sunrpc": ["exs/exs.h", "exs/sunrpc.h", "rpc/channel/", "rpc/sunrpc/"],
    "service/wire": ["service/wire/"],
    "service/flow": ["service/flow/"],
    "service/names": ["service/wire/", "service/names/"],
    "service/node": ["exs/exs.h", "exs/service.h", "service/wire/", "service/flow/", "service/names/", "service/node/"],
    "service/api": ["exs/service.h", "service/"],
    "fabric": ["exs/exs.h", "exs/msg.h", "fabric/"],
    "bindings/java": ["exs/exs.h", "exs/msg.h", "exs/service.h", "bindings/java/native/"],
    "examples": ["exs/rpc.h", "exs/service.h", "exs/msg.h", "ibvx/ibvx.h", "exs/exs.h", "exs/exs.hpp", "sys/exs.h"],
    "tools/common": ["exs/exs.h", "exs/exs.hpp", "tools/common/"],
    "tools/crowd": ["exs/exs.h", "exs/exs.hpp", "tools/common/", "tools/crowd/"],
    "tools/fetch": ["exs/exs.h", "exs/exs.hpp", "exs/service.h", "tools/common/", "tools/fetch/"],
    "tools/services": ["exs/service.h", "tools/common/", "tools/services/"],
    "tools/run": ["sockets/settings/", "tools/common/", "tools/run/"],
    "tools/sockets_agent": ["sockets/between/format.h", "sockets/between/card_name.h", "sockets/preload/kernel/peer_user.h", "tools/common/",
                            "tools/sockets_agent/"],
    "tools/directory": ["service/wire/", "service/names/", "tools/common/", "tools/directory/"],
    "tools/lanes": ["tools/common/", "tools/lanes/"],
    "tools/top": ["tools/common/", "tools/lanes/", "tools/top/"],
    "tools/explain": ["exs/exs.h", "exs/exs.hpp", "tools/common/", "tools/lanes/", "tools/explain/"],
    "perf": ["exs/exs.h", "exs/exs.hpp", "exs/msg.h", "exs/rpc.h", "exs/service.h", "exs/sunrpc.h", "tools/common/", "perf/"],
    "include/exs": [],
    "include/sys": ["exs/exs.h"],
    "include/ibvx": ["exs/msg.h", "ibvx/"],
    "tests": [""],  # all of it
}
# The registry is where the providers' names meet, and may see the front header of each. The tool that explains words
# reasons, and looks at RDMA devices, as the library does; what measures the cost of a call looks inside.
EXCEPTIONS = {
    "include/exs/exs.h": [r"exs/(event|handles)\.h"],
    "include/exs/event.h": [r"exs/handles\.h"],
    "include/exs/exs.hpp": [r"exs/cpp/\w+\.hpp"],
    "include/exs/msg.h": [r"exs/exs\.h"],
    "include/exs/service.h": [r"exs/exs\.hp?p?", r"exs/cpp/service_\w+\.hpp"],  # and service.hpp
    "include/exs/cpp/service_": [r"exs/service\.h"],
    "include/exs/rpc.h": [r"exs/exs\.hp?p?", r"exs/rpc\.h"],  # and rpc.hpp
    "include/exs/cpp/": [r"exs/cpp/\w+\.hpp", r"exs/exs\.h"],
    "perf/call_cost/": [r"(src|event)/.*"],
    "sockets/preload/kernel/clock_gettime.cc": [r"base/kernel\.h"],
    "tools/lanes/": [r"sockets/(settings/(settings|why)|preload/table/arena_layout)\.h"],
    "tools/explain/": [r"src/provider/(reason|verbs/survey)\.h", r"sockets/preload/table/arena_layout\.h"],
    "tools/top/": [r"src/provider/reason\.h"],
    "src/provider/registry": [r"src/provider/registry\.h", r"src/provider/(\w+)/\1\.h"],
}
# Headers of others -> the only places that may include them.
ONLY_IN = {
    r"CLI/": ["tools/common/command_line.cc"],
    r"microhttpd": ["tools/top/serve.cc"],
    r"nlohmann/": ["tools/common/json.cc"],
    r"(jni|exs_(service_)?[A-Z]\w+)\.h$": ["bindings/java/native/"],
    r"spdlog/": ["src/log/log.cc"],
    r"fmt/": ["src/log/log.h"],
    r"liburing": ["src/provider/iwarp/", "event/engine/plain_accept.cc", "tests/sockets/hostile/past_libc.c"],
    r"isa-l": ["src/provider/iwarp/"],
    r"rdma/(fabric|fi_|providers/)": ["fabric/", "tests/fabric/"],
    r"infiniband/|rdma/(?!fabric|fi_|providers/)": ["src/provider/verbs/", "perf/baselines/verbs/", "tests/provider/verbs/"],
    r"libmnl/": ["src/provider/verbs/"],
    r"pmix": ["src/boot/"],
    r"rpc/(?!channel/|fast/|generator/|sunrpc/)": ["rpc/sunrpc/", "tests/rpc/", "perf/sockets/rpc-empty.c", "perf/rpc_ping/"],
    r"sodium": ["service/names/", "tools/fetch/"],
    r"rapidcheck": ["tests/support/property.cc"],
}
# A layer that is a pure state machine sees no thread, lock, clock or socket.
PURE = ["src/wire/", "src/proto/", "service/wire/", "service/flow/"]
IMPURE = re.compile(r"^(thread|mutex|shared_mutex|condition_variable|atomic|future|chrono|ctime|time\.h|sys/time\.h"
                    r"|sys/socket\.h|netinet/.*|sys/epoll\.h|poll\.h|unistd\.h|pthread\.h"
                    r"|base/(drive_lock|locks|biased_lock|handle_table|unique_fd)\.h)$")
# The kernel is called in one place. Wrappers of its calls, which rdma-core, liburing and threads need, are not its calls.
KERNEL = "base/kernel"
KERNEL_CALLS = re.compile(r"(?<![\w>])::(" + "|".join(
    re.findall(r"\b(\w+)\([^;]*\) noexcept;", (ROOT / f"{KERNEL}.h").read_text()) + ["syscall", "ioctl", "dup", "pwrite"]) + r")\(")
PUBLIC_HEADER = {"stddef.h", "stdint.h", "sys/socket.h", "sys/time.h", "sys/types.h"}
PUBLIC_HEADERS = [f"include/exs/{part}.h" for part in ("exs", "event", "handles")]

INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^">]+)[">]', re.MULTILINE)


def folder_rule(name):
    parts = pathlib.PurePosixPath(name).parts
    if parts[:2] == ("src", "provider") and len(parts) > 3:  # a provider: blind to the others
        return MAY_INCLUDE["src/provider"] + ["base/", "/".join(parts[:3]) + "/"]
    depth = 3 if parts[:2] == ("sockets", "preload") else 2
    folder = "/".join(parts[:depth]) if parts[0] in ("src", "event", "sockets", "rpc", "service", "include", "tools", "bindings") else parts[0]
    rule = list(MAY_INCLUDE.get(folder, []))
    if not name.startswith(WITHOUT_BASE):
        rule.append("base/")
    for prefix, _ in EXCEPTIONS.items():
        if name.startswith(prefix):
            rule.append(prefix)
    return rule


def is_ours(header):
    return re.match(r"(base|src|event|sockets|service|fabric|exs|tools|perf|tests|examples|include|bindings|rpc/(channel|fast|generator|sunrpc)|ibvx)/|sys/exs\.h$", header) is not None


def complaints_about(name, text):
    exceptions = [pattern for prefix, patterns in EXCEPTIONS.items() if name.startswith(prefix) for pattern in patterns]
    for style, header in INCLUDE.findall(text):
        if style == '"' and not is_ours(header) and not header.endswith(("_exs.h", "_exs.hpp")):  # of exs-rpcgen
            yield f'includes "{header}": name it from the root of the repository'
        elif is_ours(header):
            allowed = any(header.startswith(prefix) for prefix in folder_rule(name))
            if not allowed and not any(re.fullmatch(pattern, header) for pattern in exceptions):
                yield f"includes {header}, which its layer may not see"
        for pattern, places in ONLY_IN.items():
            if re.match(pattern, header) and not any(name.startswith(place) for place in places):
                yield f"includes {header}, which belongs to {', '.join(places) or 'nobody'}"
        if any(name.startswith(prefix) for prefix in PURE) and IMPURE.match(header):
            yield f"includes {header}: this layer is a pure state machine"
        if name in PUBLIC_HEADERS and not is_ours(header) and header not in PUBLIC_HEADER:
            yield f"includes {header}: the public header keeps to {', '.join(sorted(PUBLIC_HEADER))}"
    if has(name, "kernel") and not name.startswith(KERNEL):
        for call in KERNEL_CALLS.findall(text):
            yield f"calls ::{call}: what goes to the kernel goes through {KERNEL}.h"
    if name.endswith(".h") and not name.startswith("include/") and "#pragma once" not in text:
        yield "lacks #pragma once"


def main():
    files = files_of("layers")
    found = [f"{name}: {complaint}" for name in files for complaint in complaints_about(name, (ROOT / name).read_text())]
    print("\n".join(found + [f"{len(files)} files, {len(found)} breaches of the layer table"]))
    return 1 if found or not files else 0


if __name__ == "__main__":
    sys.exit(main())
