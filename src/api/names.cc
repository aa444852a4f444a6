// exs_evtname, exs_version_string: need no library.
// SPDX-License-Identifier: BSD-2-Clause
#include "exs/exs.h"

const char* exs_evtname(int type) {
  switch (type) {
    case EXS_EVT_NONE: return "EXS_EVT_NONE";
    case EXS_EVT_POLL: return "EXS_EVT_POLL";
    case EXS_EVT_CONNECT: return "EXS_EVT_CONNECT";
    case EXS_EVT_ACCEPT: return "EXS_EVT_ACCEPT";
    case EXS_EVT_SEND: return "EXS_EVT_SEND";
    case EXS_EVT_RECV: return "EXS_EVT_RECV";
    case EXS_EVT_SENDMSG: return "EXS_EVT_SENDMSG";
    case EXS_EVT_RECVMSG: return "EXS_EVT_RECVMSG";
    case EXS_EVT_SENDFILE: return "EXS_EVT_SENDFILE";
    case EXS_EVT_SENDTIMEOUT: return "EXS_EVT_SENDTIMEOUT";
    case EXS_EVT_RECVTIMEOUT: return "EXS_EVT_RECVTIMEOUT";
    case EXS_EVT_SHUTDOWN: return "EXS_EVT_SHUTDOWN";
    case EXS_EVT_CLOSE: return "EXS_EVT_CLOSE";
    case EXS_EVT_PEER_READ: return "EXS_EVT_PEER_READ";
    case EXS_EVT_PEER_WRITE: return "EXS_EVT_PEER_WRITE";
    case EXS_EVT_MAP: return "EXS_EVT_MAP";
    case EXS_EVT_USER: return "EXS_EVT_USER";
    default: return "unknown";
  }
}

const char* exs_version_string(void) {
  return EXS_VERSION_TEXT;
}
