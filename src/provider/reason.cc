// SPDX-License-Identifier: BSD-2-Clause
#include "src/provider/reason.h"

namespace exs {
namespace {

struct Text {
  ReasonCode code;
  const char* name;
  const char* cure;
};

constexpr Text kTexts[] = {
    {ReasonCode::kNone, "none", ""},
    {ReasonCode::kNotNeeded, "not-needed",
     "EXS_PROVIDER=prefer:NAME, or the same in the socket option EXS_SO_PROVIDER, puts it first"},
    {ReasonCode::kForbidden, "forbidden",
     "change EXS_PROVIDER, or the socket option EXS_SO_PROVIDER, at the end that forbids it"},
    {ReasonCode::kPeerLacks, "peer-lacks", "install a version of exs that has it at the other end"},
    {ReasonCode::kNotBuilt, "not-built",
     "install a build of exs that has it; exs-explain lists what one has"},
    {ReasonCode::kFailed, "failed", "the fact names the call that failed; EXS_LOG=info tells more"},
    {ReasonCode::kTimedOut, "timed-out",
     "see that the other process runs (it may be stopped, or in a debugger), or give it more time: "
     "EXS_SO_CONNECT_TIMEOUT_MS"},
    {ReasonCode::kOtherHost, "other-host", "run both ends on one host, under one kernel"},
    {ReasonCode::kOtherNetns, "other-netns",
     "share the network namespace: docker run --network container:NAME (or host), ip netns exec NAME, "
     "nsenter -n -t PID"},
    {ReasonCode::kOtherUser, "other-user",
     "run both ends as the same user (sudo -u USER, docker run --user UID), or let the other's in at both: "
     "EXS_SHM_USERS=same,UID"},
    {ReasonCode::kNoUnixSocket, "no-unix-socket",
     "allow abstract Unix sockets between the ends: rule \"unix,\" of AppArmor, "
     "RestrictAddressFamilies=AF_UNIX AF_INET AF_INET6 of systemd"},
    {ReasonCode::kNoProof, "no-proof",
     "connect directly: something between the ends, a proxy say, speaks for one of them"},
    {ReasonCode::kNoMemfd, "no-memfd",
     "allow memfd_create and mmap (docker run --security-opt seccomp=PROFILE), or more memory "
     "(memory.max of the cgroup)"},
    {ReasonCode::kNoDescriptors, "no-descriptors",
     "ulimit -n 65536; its hard limit: LimitNOFILE=65536 of systemd, docker run --ulimit nofile=65536"},
    {ReasonCode::kNoPtrace, "no-ptrace",
     "sysctl kernel.yama.ptrace_scope=0, or docker run --cap-add SYS_PTRACE, at both ends, and no "
     "EXS_SHM_PROCESS_VM=0; memory from exs_alloc needs none of it"},
    {ReasonCode::kOtherPidns, "other-pidns",
     "share the PID namespace: docker run --pid=container:NAME (or host); memory from exs_alloc needs no "
     "sharing"},
    {ReasonCode::kNoIoUring, "no-io-uring",
     "sysctl kernel.io_uring_disabled=0; in a container also a seccomp profile that allows io_uring_setup: "
     "docker run --security-opt seccomp=PROFILE"},
    {ReasonCode::kEpollChosen, "epoll-chosen", "unset EXS_IWARP_BACKEND"},
    {ReasonCode::kNoDevice, "no-device",
     "install the driver of the RDMA card, or have one in software: modprobe rdma_rxe && rdma link add rxe0 "
     "type rxe netdev eth0"},
    {ReasonCode::kPortDown, "port-down",
     "rdma link show; ip link set DEV up; on InfiniBand a subnet manager must run (opensm)"},
    {ReasonCode::kNoRoute, "no-route",
     "ip route get PEER must name the interface of the RDMA device: ip route add PEER dev DEV"},
    {ReasonCode::kMemlock, "memlock",
     "ulimit -l unlimited; its hard limit: LimitMEMLOCK=infinity of systemd, docker run --ulimit "
     "memlock=-1"},
    {ReasonCode::kNoAccess, "no-access",
     "modprobe ib_uverbs rdma_ucm; rdma-core's udev rules let every user in; docker run "
     "--device=/dev/infiniband"},
};

const Text* text_of(ReasonCode code) noexcept {
  for (const Text& text : kTexts) {
    if (text.code == code) return &text;
  }
  return nullptr;
}

}  // namespace

const char* reason_name(ReasonCode code) noexcept {
  const Text* text = text_of(code);
  return text != nullptr ? text->name : "unknown";
}

const char* reason_cure(ReasonCode code) noexcept {
  const Text* text = text_of(code);
  return text != nullptr ? text->cure : "";
}

}  // namespace exs
