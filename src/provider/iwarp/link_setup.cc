// How a link comes up: TCP connect and the MPA handshake in both roles.
// SPDX-License-Identifier: BSD-2-Clause
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "base/kernel.h"
#include "src/log/log.h"
#include "src/provider/iwarp/link.h"
#include "src/provider/iwarp/socket.h"

namespace exs::iwarp {
namespace {

constexpr std::uint32_t kPayloadMin = 64;
constexpr std::uint32_t kSegmentMultiple = 8;

constexpr std::uint32_t kSegmentBytes = 1456;  // Ethernet, where the kernel does not say
constexpr std::uint64_t kNsPerUs = 1000;

tcp_info info_of(int descriptor) noexcept {
  tcp_info info{};
  socklen_t info_bytes = sizeof info;
  if (kernel::getsockopt(descriptor, IPPROTO_TCP, TCP_INFO, &info, &info_bytes) != 0)
    info.tcpi_snd_mss = kSegmentBytes;
  return info;
}

// RNICs commonly need an FPDU to fit one TCP segment.
std::uint32_t frame_bytes_for_segments(int descriptor) {
  return info_of(descriptor).tcpi_snd_mss / kSegmentMultiple * kSegmentMultiple;
}

// Errors of connect() that say the arguments were wrong rather than the network.
bool is_argument_error(int error) {
  return error == EBADF || error == ENOTSOCK || error == EINVAL || error == EAFNOSUPPORT ||
         error == EISCONN || error == EALREADY || error == EFAULT;
}

}  // namespace

// TCP has measured it with the handshake.
std::uint64_t IwarpLink::round_trip_ns() const noexcept {
  return info_of(descriptor_).tcpi_rtt * kNsPerUs;
}

Status IwarpLink::start_connect(const sockaddr* peer, socklen_t peer_bytes,
                                std::span<const std::byte> private_data) {
  if (const Status status = make_ready_for_traffic(descriptor_); !status.ok()) return status;
  MpaFrame request;
  request.crc = context_.settings.want_crc;
  request.inbound_reads = static_cast<std::uint16_t>(depths_.reads_in);
  request.outbound_reads = static_cast<std::uint16_t>(depths_.reads_out);
  request.is_exs = context_.settings.announce_exs;
  request.private_data = private_data;
  const MpaBytes frame = encode_mpa(request);
  transmitter_.queue_handshake({frame.bytes.data(), frame.length});
  state_ = State::kConnecting;
  if (kernel::connect(descriptor_, peer, peer_bytes) != 0 && errno != EINPROGRESS) {
    const int error = errno;
    if (is_argument_error(error)) return Status(error);
    socket_failed(error, "connect");
    return {};
  }
  if (const Status status = context_.poller.add(descriptor_, EPOLLOUT, *this); !status.ok()) return status;
  watched_ = true;
  return {};
}

void IwarpLink::connected() {
  int error = 0;
  socklen_t error_bytes = sizeof error;
  if (kernel::getsockopt(descriptor_, SOL_SOCKET, SO_ERROR, &error, &error_bytes) != 0) error = errno;
  if (error != 0) {
    socket_failed(error, "connect");
    return;
  }
  reply_ = std::make_unique<MpaCollector>(MpaRole::kReply);
  state_ = State::kAwaitingReply;
  stage_ = ConnectStage::kAsked;
  context_.poller.change(descriptor_, EPOLLIN, *this);
  mark_to_send();
}

void IwarpLink::take_reply(std::size_t bytes) {
  const MpaCollector::Progress progress = reply_->filled(bytes);
  if (progress == MpaCollector::Progress::kMore) {
    stage_ = ConnectStage::kReceived;
    return;
  }
  if (progress == MpaCollector::Progress::kBad) {
    end(fault(LogLevel::kWarn, EPROTO,
              "iwarp: the answer of {} is not that of an exs server: {}; it begins with \"{}\"", peer_name(),
              reply_->problem(), reply_->beginning()));
    return;
  }
  const MpaFrame reply = reply_->frame();
  private_data_.assign(reply.private_data.begin(), reply.private_data.end());
  if (reply.rejected) {
    end(fault(LogLevel::kInfo, ECONNREFUSED, "iwarp: {} rejected the connection", peer_name()));
    return;
  }
  if (reply.markers) {
    end(fault(LogLevel::kWarn, EPROTO, "iwarp: {} asks for MPA markers, which are not supported",
              peer_name()));
    return;
  }
  configure(reply.crc || context_.settings.want_crc, reply.is_exs,
            std::min<std::uint32_t>(depths_.reads_out, reply.inbound_reads));
  reply_.reset();
  state_ = State::kOpen;
  transmitter_.open();
  complete(CompletionKind::kEstablished, {}, 0);
  if (transmitter_.has_work()) mark_to_send();
  if (!reply.is_exs && context_.settings.nudge) context_.nudges.expect_first_word(this, context_.now_ns);
}

Status IwarpLink::start_accept(const IncomingRequest& incoming, std::span<const std::byte> private_data) {
  const MpaFrame& request = incoming.frame();
  if (const Status status = make_ready_for_traffic(descriptor_); !status.ok()) return status;
  MpaFrame reply = reply_to(request, context_.settings.want_crc, depths_.reads_in, depths_.reads_out);
  reply.is_exs = request.is_exs && context_.settings.announce_exs;
  reply.private_data = private_data;
  private_data_.assign(request.private_data.begin(), request.private_data.end());
  configure(reply.crc, request.is_exs, reply.outbound_reads);
  const MpaBytes frame = encode_mpa(reply);
  transmitter_.queue_handshake(incoming.unsent_of(frame));
  state_ = State::kReplying;
  mark_to_flush();
  return {};
}

// Nothing is read before: a peer that sends FPDUs ahead of our reply finds the receives of the caller in
// place.
void IwarpLink::reply_left() {
  if (watched_) {
    context_.poller.change(descriptor_, EPOLLIN, *this);
  } else if (const Status status = context_.poller.add(descriptor_, EPOLLIN, *this); !status.ok()) {
    end(status);
    return;
  }
  watched_ = true;
  state_ = State::kOpen;
  complete(CompletionKind::kEstablished, {}, 0);
}

void IwarpLink::configure(bool crc, bool peer_is_exs, std::uint32_t reads_out) {
  const std::uint32_t payload_max = std::min(context_.settings.payload_max, kPayloadMax);
  std::uint32_t tagged_max = payload_max;
  std::uint32_t untagged_max = payload_max;
  if (!peer_is_exs) {
    const std::uint32_t frame = std::max(frame_bytes_for_segments(descriptor_), 2 * kPayloadMin);
    tagged_max = std::min(tagged_max, frame - static_cast<std::uint32_t>(kTaggedHeaderBytes + kCrcBytes));
    untagged_max =
        std::min(untagged_max, frame - static_cast<std::uint32_t>(kUntaggedHeaderBytes + kCrcBytes));
  }
  reads_.limit = reads_out;
  // One read is always served: a peer-to-peer initiator may begin with an empty one.
  receiver_.configure(crc, std::max<std::uint32_t>(depths_.reads_in, 1));
  transmitter_.configure(crc, tagged_max, untagged_max);
}

}  // namespace exs::iwarp
