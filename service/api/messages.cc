// The functions of exs/service.h for messages, requests and replies.
// SPDX-License-Identifier: BSD-2-Clause
#include <cerrno>
#include <utility>

#include "base/clock.h"
#include "exs/service.h"
#include "service/api/calls.h"
#include "service/node/node.h"

namespace {

using exs::c_call;
using exs::failure;
using exs::refuse;
using exs::Result;
using exs::Status;
using exs::svc::read_pieces;

// The items and long items of one send.
struct Content {
  exs::svc::Data data;
  exs::svc::Transfer::Pieces longs;
};

Status read_items(const exs_svc_item_t* items, int count, exs::svc::Items& read) {
  if (count < 0 || (items == nullptr && count > 0)) return refuse(EINVAL, "no items");
  if (count > EXS_SVC_ITEMS_MAX) return refuse(EMSGSIZE, "more than {} items", EXS_SVC_ITEMS_MAX);
  std::size_t left = EXS_SVC_SHORT_MAX;
  for (std::size_t i = 0; i < static_cast<std::size_t>(count); ++i) {
    if (items[i].data == nullptr && items[i].length > 0) return refuse(EINVAL, "item {} is NULL", i);
    if (items[i].length > left)
      return refuse(EMSGSIZE, "more than {} bytes of short items", EXS_SVC_SHORT_MAX);
    left -= items[i].length;
    read.item[i] = {static_cast<const std::uint8_t*>(items[i].data), items[i].length};
  }
  read.count = static_cast<std::size_t>(count);
  return {};
}

Result<Content> read_content(const exs_svc_item_t* items, int count, const exs_iovec_t* longs,
                             int longs_count) {
  Content content;
  if (const Status read = read_items(items, count, content.data.items); !read.ok()) return failure(read);
  Result<exs::svc::Transfer::Pieces> pieces = read_pieces(longs, longs_count);
  if (!pieces) return failure(pieces.error());
  content.longs = std::move(*pieces);
  content.data.longs.count = content.longs.size();
  for (std::size_t i = 0; i < content.longs.size(); ++i)
    content.data.longs.bytes[i] = content.longs[i].iov_len;
  return content;
}

// What exs_svc_request() says beside its content.
Result<exs::svc::Peer::Asked> read_asked(const exs_svc_request_options_t& options, void* handle) {
  Result<exs::svc::Transfer::Pieces> returns = read_pieces(options.returns, options.returns_count);
  if (!returns) return failure(returns.error());
  exs::svc::Peer::Asked asked;
  asked.returns = std::move(*returns);
  asked.is_idempotent = (options.flags & EXS_SVC_IDEMPOTENT) != 0;
  asked.handle = handle;
  if (options.limit_ns > 0) asked.limit_ns = exs::limit_after(exs::boottime_ns(), options.limit_ns);
  return asked;
}

// Rounded up, as 0 is no limit.
std::uint32_t whole_ms(std::int64_t limit_ns) {
  if (limit_ns == 0) return 0;
  const std::uint64_t limit_ms = (static_cast<std::uint64_t>(limit_ns) - 1) / exs::kNsPerMs + 1;
  return static_cast<std::uint32_t>(std::min<std::uint64_t>(limit_ms, UINT32_MAX));
}

}  // namespace

int exs_svc_send_short(exs_svc_peer_t* peer, const exs_svc_item_t* items, int count) {
  return c_call([&]() -> Status {
    if (peer == nullptr) return refuse(EINVAL, "no peer");
    exs::svc::Data data;
    if (const Status read = read_items(items, count, data.items); !read.ok()) return read;
    return peer->node().send(peer, data, {}, nullptr);
  });
}

int exs_svc_send_long(exs_svc_peer_t* peer, const exs_svc_item_t* items, int count, const exs_iovec_t* longs,
                      int longs_count, void* handle) {
  return c_call([&]() -> Status {
    if (peer == nullptr || longs_count < 1) return refuse(EINVAL, "no peer, or no long items");
    Result<Content> content = read_content(items, count, longs, longs_count);
    if (!content) return content.error();
    return peer->node().send(peer, content->data, std::move(content->longs), handle);
  });
}

int exs_svc_window(exs_svc_t* service, void* buffer, size_t length, exs_mhandle_t region) {
  return c_call([&]() -> Status {
    if (service == nullptr || buffer == nullptr || length == 0)
      return refuse(EINVAL, "no service, or no memory");
    service->node().add_window(service, {static_cast<std::uint8_t*>(buffer), length, region, true});
    return {};
  });
}

int exs_svc_request(exs_svc_peer_t* peer, const exs_svc_item_t* items, int count, const exs_iovec_t* longs,
                    int longs_count, const exs_svc_request_options_t* given, void* handle) {
  return c_call([&]() -> Status {
    exs_svc_request_options_t options{};
    if (peer == nullptr || !exs::read_options(given, options) || options.limit_ns < 0 ||
        (options.flags & ~static_cast<std::uint32_t>(EXS_SVC_IDEMPOTENT)) != 0)
      return refuse(EINVAL, "no peer, or options that are none");
    Result<Content> content = read_content(items, count, longs, longs_count);
    if (!content) return content.error();
    Result<exs::svc::Peer::Asked> asked = read_asked(options, handle);
    if (!asked) return asked.error();
    asked->longs = std::move(content->longs);
    content->data.limit_ms = whole_ms(options.limit_ns);
    return peer->node().request(peer, content->data, std::move(*asked));
  });
}

int exs_svc_cancel(exs_svc_peer_t* peer, const void* handle) {
  return c_call([&]() -> Status {
    if (peer == nullptr) return refuse(EINVAL, "no peer");
    return peer->node().cancel(peer, handle);
  });
}

int exs_svc_reply(const exs_svc_message_t* message, int32_t status, const exs_svc_item_t* items, int count,
                  const exs_iovec_t* longs, int longs_count, uint32_t flags, void* handle) {
  return c_call([&]() -> Status {
    if (message == nullptr || !exs::svc::call_of(message) ||
        (flags & ~static_cast<uint32_t>(EXS_SVC_MORE)) != 0)
      return refuse(EINVAL, "no request, or flags that mean nothing");
    Result<Content> content = read_content(items, count, longs, longs_count);
    if (!content) return content.error();
    content->data.kind = exs::svc::kIsReply;
    if ((flags & EXS_SVC_MORE) != 0) content->data.kind |= exs::svc::kMoreFollow;
    content->data.status = status;
    return exs::svc::Node::reply(message, content->data, std::move(content->longs), handle);
  });
}

void exs_svc_release(const exs_svc_message_t* message) {
  if (message != nullptr) exs::svc::Node::release(const_cast<exs_svc_message_t*>(message));
}
