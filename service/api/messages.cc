// The functions of exs/service.h for messages, requests and replies.
// SPDX-License-Identifier: BSD-2-Clause
#include <cerrno>
#include <cstring>

#include "exs/service.h"
#include "service/api/calls.h"
#include "service/node/node.h"

namespace {

using exs::svc::guarded;
using exs::svc::read_pieces;
using exs::svc::refuse;

// The items and long items of one send.
struct Content {
  exs::svc::Data data;
  exs::svc::Transfer::Pieces longs;
};

// The functions below return 0, or -1 with errno.
int read_items(const char* caller, const exs_svc_item_t* items, int count, exs::svc::Items& read) {
  if (count < 0 || (items == nullptr && count > 0)) return refuse(EINVAL, "%s: no items", caller);
  if (count > EXS_SVC_ITEMS_MAX) return refuse(EMSGSIZE, "%s: more than %d items", caller, EXS_SVC_ITEMS_MAX);
  std::size_t left = EXS_SVC_SHORT_MAX;
  for (std::size_t i = 0; i < static_cast<std::size_t>(count); ++i) {
    if (items[i].data == nullptr && items[i].length > 0)
      return refuse(EINVAL, "%s: item %zu is NULL", caller, i);
    if (items[i].length > left)
      return refuse(EMSGSIZE, "%s: more than %d bytes of short items", caller, EXS_SVC_SHORT_MAX);
    left -= items[i].length;
    read.item[i] = {static_cast<const std::uint8_t*>(items[i].data), items[i].length};
  }
  read.count = static_cast<std::size_t>(count);
  return 0;
}

int read_content(const char* caller, const exs_svc_item_t* items, int count, const exs_iovec_t* longs,
                 int longs_count, Content& content) {
  if (read_items(caller, items, count, content.data.items) != 0 ||
      read_pieces(caller, longs, longs_count, content.longs) != 0)
    return -1;
  content.data.longs.count = content.longs.size();
  for (std::size_t i = 0; i < content.longs.size(); ++i)
    content.data.longs.bytes[i] = content.longs[i].iov_len;
  return 0;
}

int answer(const char* caller, int error) {
  if (error == 0) return 0;
  return refuse(error, "%s: %s", caller,
                error == EAGAIN      ? "64 messages or requests have not been taken"
                : error == ECANCELED ? "nobody waits for this reply, or it has been given"
                : error == ENOENT    ? "no request has this handle"
                : error == EBUSY     ? "another request has one of these places for replies"
                : error == EINVAL
                    ? "a place for replies is no part of one piece of memory of exs_svc_return_alloc"
                    : std::strerror(error));
}

}  // namespace

int exs_svc_send_short(exs_svc_peer_t* peer, const exs_svc_item_t* items, int count) {
  if (peer == nullptr) return refuse(EINVAL, "exs_svc_send_short: no peer");
  exs::svc::Data data;
  if (read_items("exs_svc_send_short", items, count, data.items) != 0) return -1;
  return guarded(-1,
                 [&] { return answer("exs_svc_send_short", peer->node().send(peer, data, {}, nullptr)); });
}

int exs_svc_send_long(exs_svc_peer_t* peer, const exs_svc_item_t* items, int count, const exs_iovec_t* longs,
                      int longs_count, void* handle) {
  if (peer == nullptr || longs_count < 1)
    return refuse(EINVAL, "exs_svc_send_long: no peer, or no long items");
  return guarded(-1, [&] {
    Content content;
    if (read_content("exs_svc_send_long", items, count, longs, longs_count, content) != 0) return -1;
    return answer("exs_svc_send_long",
                  peer->node().send(peer, content.data, std::move(content.longs), handle));
  });
}

int exs_svc_window(exs_svc_t* service, void* buffer, size_t length, exs_mhandle_t region) {
  if (service == nullptr || buffer == nullptr || length == 0)
    return refuse(EINVAL, "exs_svc_window: no service, or no memory");
  return guarded(-1, [&] {
    service->node().add_window(service, {static_cast<std::uint8_t*>(buffer), length, region, true});
    return 0;
  });
}

int exs_svc_request(exs_svc_peer_t* peer, const exs_svc_item_t* items, int count, const exs_iovec_t* longs,
                    int longs_count, const exs_svc_request_options_t* given, void* handle) {
  exs_svc_request_options_t options{};
  if (peer == nullptr || !exs::svc::read_options(given, options) || options.limit_ns < 0 ||
      (options.flags & ~static_cast<std::uint32_t>(EXS_SVC_IDEMPOTENT)) != 0)
    return refuse(EINVAL, "exs_svc_request: no peer, or options that are none");
  return guarded(-1, [&] {
    Content content;
    exs::svc::Peer::Asked asked;
    if (read_content("exs_svc_request", items, count, longs, longs_count, content) != 0 ||
        read_pieces("exs_svc_request", options.returns, options.returns_count, asked.returns) != 0)
      return -1;
    asked.longs = std::move(content.longs);
    asked.is_idempotent = (options.flags & EXS_SVC_IDEMPOTENT) != 0;
    asked.handle = handle;
    if (options.limit_ns > 0) {
      asked.limit_ns = exs::svc::after(exs::svc::now_ns(), options.limit_ns);
      const std::int64_t limit_ms = (options.limit_ns - 1) / exs::svc::kNsPerMs + 1;
      content.data.limit_ms = static_cast<std::uint32_t>(std::min<std::int64_t>(limit_ms, UINT32_MAX));
    }
    return answer("exs_svc_request", peer->node().request(peer, content.data, std::move(asked)));
  });
}

int exs_svc_cancel(exs_svc_peer_t* peer, const void* handle) {
  if (peer == nullptr) return refuse(EINVAL, "exs_svc_cancel: no peer");
  return guarded(-1, [&] { return answer("exs_svc_cancel", peer->node().cancel(peer, handle)); });
}

int exs_svc_reply(const exs_svc_message_t* message, int32_t status, const exs_svc_item_t* items, int count,
                  const exs_iovec_t* longs, int longs_count, uint32_t flags, void* handle) {
  if (message == nullptr || !exs::svc::call_of(message) ||
      (flags & ~static_cast<uint32_t>(EXS_SVC_MORE)) != 0)
    return refuse(EINVAL, "exs_svc_reply: no request, or flags that mean nothing");
  return guarded(-1, [&] {
    Content content;
    if (read_content("exs_svc_reply", items, count, longs, longs_count, content) != 0) return -1;
    content.data.kind = exs::svc::kIsReply;
    if ((flags & EXS_SVC_MORE) != 0) content.data.kind |= exs::svc::kMoreFollow;
    content.data.status = status;
    return answer("exs_svc_reply",
                  exs::svc::Node::reply(message, content.data, std::move(content.longs), handle));
  });
}

void exs_svc_release(const exs_svc_message_t* message) {
  if (message != nullptr) exs::svc::Node::release(const_cast<exs_svc_message_t*>(message));
}
