#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""exs.h, by either name, its parts, msg.h, ibvx.h and service.h are valid C11 and C++11 to C++20, and keep sizes and flag bits; exs.hpp and each
header below it compile alone.

    header.py C-COMPILER C++-COMPILER
"""
import pathlib
import shutil
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]

STRICT = ["-Wall", "-Wextra", "-Wpedantic", "-Wconversion", "-Wundef", "-Werror"]

# Included twice: the guard holds. The asserts are those a program may rely on.
START = """
#include <{header}>
#include <{header}>
#if defined(__cplusplus)
#define HOLDS(condition) static_assert(condition, #condition)
#else
#define HOLDS(condition) _Static_assert(condition, #condition)
#endif
"""
SOURCE = START + """
HOLDS(sizeof(exs_event_t) == 64 || sizeof(void *) != 8);
HOLDS(sizeof(exs_mhandle_t) == sizeof(int) && sizeof(exs_qhandle_t) == sizeof(int));
HOLDS(EXS_VERSION == EXS_VERSION1);
HOLDS(EXS_MHANDLE_INVALID != EXS_MHANDLE_UNREGISTERED);
HOLDS((MSG_WAITALL & EXS_NO_IMMEDIATE) == 0);
HOLDS(sizeof(exs_window_t) == 8);
HOLDS(sizeof(exs_slots_t) == 64);
/* The shapes that a known ES-API client uses. */
int use(int socket, char *memory);
int use(int socket, char *memory) {{
  exs_event_t events[4];
  exs_mhandle_t region = exs_mregister((void *)memory, (size_t)64, 0);
  exs_qhandle_t queue = exs_qcreate(128);
  if (exs_init(EXS_VERSION) == -1 || region == EXS_MHANDLE_INVALID || queue == EXS_QHANDLE_INVALID) return -1;
  if (exs_send(socket, memory, 64, 0, queue, (exs_ahandle_t)-1, region) == -1) return -1;
  return exs_qdequeue(queue, events, -(3 >> 1), NULL);
}}
"""

HANDLES = START + """
HOLDS(sizeof(exs_mhandle_t) == sizeof(int) && sizeof(exs_qhandle_t) == sizeof(int) && sizeof(exs_phandle_t) == sizeof(int));
int use(exs_qhandle_t queue, exs_mhandle_t region, exs_phandle_t pool);
int use(exs_qhandle_t queue, exs_mhandle_t region, exs_phandle_t pool) {{
  if (queue == EXS_QHANDLE_INVALID || region == EXS_MHANDLE_INVALID || pool == EXS_PHANDLE_INVALID) return -1;
  if (region == EXS_MHANDLE_UNREGISTERED) return queue;
  return pool;
}}
"""

EVENTS = START + """
HOLDS(sizeof(exs_event_t) == 64 || sizeof(void *) != 8);
uint64_t use(const exs_event_t *event);
uint64_t use(const exs_event_t *event) {{
  if (exs_event_new_socket(event) != -1 || exs_event_region(event) == EXS_MHANDLE_INVALID) return 0;
  return exs_event_bytes(event) + (exs_event_buffer(event) != NULL) + exs_event_offset(event) + exs_event_count(event) +
         exs_event_revents(event) + exs_event_next_length(event) + exs_event_user(event, 4);
}}
"""

MESSAGES = START + """
HOLDS(sizeof(exm_request_t) == 8 && sizeof(exm_message_t) == 8);
HOLDS(sizeof(exm_status_t) == 32);
HOLDS(EXM_ANY_SOURCE < 0 && EXM_UNDEFINED < 0 && EXM_ANY_SOURCE != EXM_UNDEFINED);
int use(exm_ep_t ep, char *memory);
int use(exm_ep_t ep, char *memory) {{
  exm_request_t requests[2] = {{0, 0}};
  exm_status_t statuses[2];
  if (exm_isend(ep, memory, 8, 1, 7, 0, EXM_SYNC, &requests[0]) == -1) return -1;
  if (exm_irecv(ep, memory, 8, EXM_ANY_SOURCE, EXM_ANY_TAG, 0, &requests[1]) == -1) return -1;
  return exm_waitall(ep, requests, 2, statuses, -1);
}}
"""

IBVX = START + """
HOLDS(ANY_SOURCE < 0 && ANY_TAG < 0);
/* As the listing has them. */
int use(char **names, int *list, char *memory);
int use(char **names, int *list, char *memory) {{
  Request request, *peeked;
  Status status;
  if (IBV_Init(names, list, 2, 0, 65536) != 0) return -1;
  if (IBV_Isend(memory, 8, 1, 7, 0, &request) != 0 || IBV_Issend(memory, 8, 1, 7, 0, &request) != 0) return -1;
  if (IBV_Irecv(memory, 8, ANY_SOURCE, ANY_TAG, 0, &request) != 0 || IBV_Wait(&request, &status) != 0) return -1;
  if (IBV_Send(memory, 8, 1, 7, 0) != 0 || IBV_Ssend(memory, 8, 1, 7, 0) != 0) return -1;
  if (IBV_Recv(memory, 8, 1, 7, 0, &status) != 0 || IBV_Test(&request, &status) != 1) return -1;
  if (IBV_Iprobe(1, 7, 0, &status) != 1 || IBV_Probe(1, 7, 0, &status) != 0) return -1;
  peeked = IBV_Peek();
  return peeked == &request && status.source + status.tag + status.size + status.error == 0 ? IBV_Finalize() : -1;
}}
"""

SERVICES = START + """
HOLDS(sizeof(exs_svc_event_t) == 64 || sizeof(void *) != 8);
HOLDS(sizeof(exs_svc_id_t) == 16 && sizeof(exs_svc_cap_t) == 64);
HOLDS(EXS_SVC_ALL == (EXS_SVC_SEND | EXS_SVC_STATS | EXS_SVC_REQUEST | EXS_SVC_LONG | EXS_SVC_RETURN));
HOLDS(sizeof(exs_svc_event_t) == 64);
int use(exs_svc_node_t *node, const exs_svc_id_t *id, char *memory);
int use(exs_svc_node_t *node, const exs_svc_id_t *id, char *memory) {{
  exs_svc_event_t event;
  exs_svc_item_t item;
  item.data = memory;
  item.length = 8;
  return exs_svc_send_short(exs_svc_peer_open(node, NULL, id, NULL, NULL), &item, 1) + exs_svc_wait(node, &event, 1, -1);
}}
"""

OUR_FLAGS = ["EXS_SHUT_WR", "EXS_PERSISTENT", "EXS_NOTIFY", "EXS_NO_EVENT", "EXS_NO_IMMEDIATE"]

# Every MSG_* flag that <sys/socket.h> of this system has, as the preprocessor and the compiler know them.
FLAGS = """
#define _GNU_SOURCE
#include <sys/socket.h>
#include <exs/exs.h>
{checks}
int main(void) {{ return 0; }}
"""


def compile_source(source, command):
    done = subprocess.run([*command, f"-I{ROOT}/include", "-fsyntax-only", "-"], input=source, capture_output=True,
                          text=True, check=False)
    if done.returncode != 0:
        raise SystemExit(f"{' '.join(command)}:\n{done.stderr}")


def check_cpp_headers(cxx_compiler):
    found = filter(None, map(shutil.which, (cxx_compiler, "g++", "clang++-14")))
    compilers = {pathlib.Path(compiler).resolve(): compiler for compiler in found}.values()  # c++ is g++ on most machines
    headers = sorted(path.relative_to(ROOT / "include").as_posix() for path in (ROOT / "include").rglob("*.hpp"))
    for compiler in sorted(compilers):
        for header in headers:
            compile_source(f"#include <{header}>\n#include <{header}>\n",
                           [compiler, "-x", "c++", "-std=c++20", *STRICT, "-Wshadow"])
        print(f"{len(headers)} headers of the C++ layer with {compiler}: compile alone")


def message_flags(c_compiler):
    done = subprocess.run([c_compiler, "-x", "c", "-D_GNU_SOURCE", "-dM", "-E", "-"], input="#include <sys/socket.h>\n",
                          capture_output=True, text=True, check=True)
    return sorted({line.split()[1] for line in done.stdout.splitlines() if line.startswith("#define MSG_")})


def main():
    c_compiler, cxx_compiler = sys.argv[1:]
    variants = [[c_compiler, "-x", "c", "-std=c11"]]
    variants += [[cxx_compiler, "-x", "c++", f"-std=c++{year}"] for year in (11, 17, 20)]
    for header, source in (("exs/exs.h", SOURCE), ("sys/exs.h", SOURCE), ("exs/handles.h", HANDLES), ("exs/event.h", EVENTS),
                           ("exs/msg.h", MESSAGES), ("ibvx/ibvx.h", IBVX), ("exs/service.h", SERVICES)):
        for variant in variants:
            compile_source(source.format(header=header), [*variant, *STRICT])
            print(f"<{header}> {' '.join(variant)}: compiles")
    check_cpp_headers(cxx_compiler)
    flags = message_flags(c_compiler)
    if not flags:
        raise SystemExit("no MSG_ flags found: the check checks nothing")
    others = {ours: [flag for flag in flags + OUR_FLAGS if flag != ours] for ours in OUR_FLAGS}
    checks = [f'_Static_assert((((unsigned){flag}) & (unsigned){ours}) == 0, "{flag} {ours}");'
              for ours in OUR_FLAGS for flag in others[ours]]
    compile_source(FLAGS.format(checks="\n".join(checks)), [c_compiler, "-x", "c", "-std=c11"])
    print(f"{len(OUR_FLAGS)} flags share no bit with each other and {len(flags)} MSG_ flags")


if __name__ == "__main__":
    main()
