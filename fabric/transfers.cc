// fi_send, fi_tsend and the like: each is one TransferCall.
// SPDX-License-Identifier: BSD-2-Clause
#include "fabric/endpoint.h"
#include "fabric/offer.h"
#include "fabric/tables.h"

namespace exs::fabric {
namespace {

// Messages without tags match by their bit alone.
constexpr std::uint64_t kNothingIgnored = 0;

iovec piece_of(const void* buffer, std::size_t bytes) noexcept {
  return {const_cast<void*>(buffer), bytes};  // a send never writes to it
}

TransferCall untagged(const iovec* pieces, std::size_t count, fi_addr_t peer, void* context) noexcept {
  TransferCall transfer;
  transfer.pieces = pieces;
  transfer.count = count;
  transfer.peer = peer;
  transfer.match = kUntagged;
  transfer.ignore = kNothingIgnored;
  transfer.kind = FI_MSG;
  transfer.context = context;
  return transfer;
}

// kUntagged must match even if the application ignores all bits.
TransferCall tagged(const iovec* pieces, std::size_t count, fi_addr_t peer, std::uint64_t tag,
                    std::uint64_t ignore, void* context) noexcept {
  TransferCall transfer = untagged(pieces, count, peer, context);
  transfer.match = tag & ~kUntagged;
  transfer.ignore = ignore & ~kUntagged;
  transfer.kind = FI_TAGGED;
  return transfer;
}

ssize_t send(fid_ep* ep, TransferCall transfer) {
  return guarded<ssize_t>([&]() -> Status {
    Endpoint& self = Endpoint::of(ep);
    transfer.flags |= self.send_flags();
    return self.send(transfer);
  });
}

ssize_t send_data(fid_ep* ep, TransferCall transfer, std::uint64_t data) {
  transfer.data = data;
  transfer.flags |= FI_REMOTE_CQ_DATA;
  return send(ep, transfer);
}

ssize_t inject(fid_ep* ep, TransferCall transfer) {
  return guarded<ssize_t>([&]() -> Status {
    transfer.flags |= FI_INJECT;
    transfer.is_silent = true;
    return Endpoint::of(ep).send(transfer);
  });
}

ssize_t inject_data(fid_ep* ep, TransferCall transfer, std::uint64_t data) {
  transfer.data = data;
  transfer.flags |= FI_REMOTE_CQ_DATA;
  return inject(ep, transfer);
}

// Multi-receive buffers take messages without tags.
ssize_t receive(fid_ep* ep, TransferCall transfer) {
  return guarded<ssize_t>([&]() -> Status {
    Endpoint& self = Endpoint::of(ep);
    transfer.flags |= self.receive_flags();
    if (transfer.kind == FI_TAGGED) transfer.flags &= ~FI_MULTI_RECV;
    return self.receive(transfer);
  });
}

// ---------------------------------------------------------------- messages without tags

ssize_t recv_one(fid_ep* ep, void* buffer, std::size_t bytes, void* /*desc*/, fi_addr_t from, void* context) {
  const iovec piece = piece_of(buffer, bytes);
  return receive(ep, untagged(&piece, 1, from, context));
}

ssize_t recv_several(fid_ep* ep, const iovec* pieces, void** /*descs*/, std::size_t count, fi_addr_t from,
                     void* context) {
  return receive(ep, untagged(pieces, count, from, context));
}

ssize_t recv_message(fid_ep* ep, const fi_msg* message, std::uint64_t flags) {
  return guarded<ssize_t>([&]() -> Status {
    TransferCall transfer = untagged(message->msg_iov, message->iov_count, message->addr, message->context);
    transfer.flags = flags;
    const bool is_probe = (flags & (FI_PEEK | FI_CLAIM | FI_DISCARD)) != 0;
    return is_probe ? Endpoint::of(ep).probe(transfer) : Endpoint::of(ep).receive(transfer);
  });
}

ssize_t send_one(fid_ep* ep, const void* buffer, std::size_t bytes, void* /*desc*/, fi_addr_t to,
                 void* context) {
  const iovec piece = piece_of(buffer, bytes);
  return send(ep, untagged(&piece, 1, to, context));
}

ssize_t send_several(fid_ep* ep, const iovec* pieces, void** /*descs*/, std::size_t count, fi_addr_t to,
                     void* context) {
  return send(ep, untagged(pieces, count, to, context));
}

ssize_t send_message(fid_ep* ep, const fi_msg* message, std::uint64_t flags) {
  return guarded<ssize_t>([&]() -> Status {
    TransferCall transfer = untagged(message->msg_iov, message->iov_count, message->addr, message->context);
    transfer.flags = flags;
    transfer.data = message->data;
    return Endpoint::of(ep).send(transfer);
  });
}

ssize_t inject_one(fid_ep* ep, const void* buffer, std::size_t bytes, fi_addr_t to) {
  const iovec piece = piece_of(buffer, bytes);
  return inject(ep, untagged(&piece, 1, to, nullptr));
}

ssize_t send_with_data(fid_ep* ep, const void* buffer, std::size_t bytes, void* /*desc*/, std::uint64_t data,
                       fi_addr_t to, void* context) {
  const iovec piece = piece_of(buffer, bytes);
  return send_data(ep, untagged(&piece, 1, to, context), data);
}

ssize_t inject_with_data(fid_ep* ep, const void* buffer, std::size_t bytes, std::uint64_t data,
                         fi_addr_t to) {
  const iovec piece = piece_of(buffer, bytes);
  return inject_data(ep, untagged(&piece, 1, to, nullptr), data);
}

// ---------------------------------------------------------------- messages with tags

ssize_t trecv_one(fid_ep* ep, void* buffer, std::size_t bytes, void* /*desc*/, fi_addr_t from,
                  std::uint64_t tag, std::uint64_t ignore, void* context) {
  const iovec piece = piece_of(buffer, bytes);
  return receive(ep, tagged(&piece, 1, from, tag, ignore, context));
}

ssize_t trecv_several(fid_ep* ep, const iovec* pieces, void** /*descs*/, std::size_t count, fi_addr_t from,
                      std::uint64_t tag, std::uint64_t ignore, void* context) {
  return receive(ep, tagged(pieces, count, from, tag, ignore, context));
}

ssize_t trecv_message(fid_ep* ep, const fi_msg_tagged* message, std::uint64_t flags) {
  return guarded<ssize_t>([&]() -> Status {
    TransferCall transfer = tagged(message->msg_iov, message->iov_count, message->addr, message->tag,
                                   message->ignore, message->context);
    transfer.flags = flags;
    if ((flags & FI_MULTI_RECV) != 0) return Status(FI_EINVAL);
    const bool is_probe = (flags & (FI_PEEK | FI_CLAIM | FI_DISCARD)) != 0;
    return is_probe ? Endpoint::of(ep).probe(transfer) : Endpoint::of(ep).receive(transfer);
  });
}

ssize_t tsend_one(fid_ep* ep, const void* buffer, std::size_t bytes, void* /*desc*/, fi_addr_t to,
                  std::uint64_t tag, void* context) {
  const iovec piece = piece_of(buffer, bytes);
  return send(ep, tagged(&piece, 1, to, tag, 0, context));
}

ssize_t tsend_several(fid_ep* ep, const iovec* pieces, void** /*descs*/, std::size_t count, fi_addr_t to,
                      std::uint64_t tag, void* context) {
  return send(ep, tagged(pieces, count, to, tag, 0, context));
}

ssize_t tsend_message(fid_ep* ep, const fi_msg_tagged* message, std::uint64_t flags) {
  return guarded<ssize_t>([&]() -> Status {
    TransferCall transfer =
        tagged(message->msg_iov, message->iov_count, message->addr, message->tag, 0, message->context);
    transfer.flags = flags;
    transfer.data = message->data;
    return Endpoint::of(ep).send(transfer);
  });
}

ssize_t tinject_one(fid_ep* ep, const void* buffer, std::size_t bytes, fi_addr_t to, std::uint64_t tag) {
  const iovec piece = piece_of(buffer, bytes);
  return inject(ep, tagged(&piece, 1, to, tag, 0, nullptr));
}

ssize_t tsend_with_data(fid_ep* ep, const void* buffer, std::size_t bytes, void* /*desc*/, std::uint64_t data,
                        fi_addr_t to, std::uint64_t tag, void* context) {
  const iovec piece = piece_of(buffer, bytes);
  return send_data(ep, tagged(&piece, 1, to, tag, 0, context), data);
}

ssize_t tinject_with_data(fid_ep* ep, const void* buffer, std::size_t bytes, std::uint64_t data, fi_addr_t to,
                          std::uint64_t tag) {
  const iovec piece = piece_of(buffer, bytes);
  return inject_data(ep, tagged(&piece, 1, to, tag, 0, nullptr), data);
}

}  // namespace

fi_ops_msg message_ops = {.size = sizeof(fi_ops_msg),
                          .recv = recv_one,
                          .recvv = recv_several,
                          .recvmsg = recv_message,
                          .send = send_one,
                          .sendv = send_several,
                          .sendmsg = send_message,
                          .inject = inject_one,
                          .senddata = send_with_data,
                          .injectdata = inject_with_data};

fi_ops_tagged tagged_ops = {.size = sizeof(fi_ops_tagged),
                            .recv = trecv_one,
                            .recvv = trecv_several,
                            .recvmsg = trecv_message,
                            .send = tsend_one,
                            .sendv = tsend_several,
                            .sendmsg = tsend_message,
                            .inject = tinject_one,
                            .senddata = tsend_with_data,
                            .injectdata = tinject_with_data};

}  // namespace exs::fabric
