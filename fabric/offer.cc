// SPDX-License-Identifier: BSD-2-Clause
#include "fabric/offer.h"

#include <cstdlib>
#include <cstring>
#include <limits>
#include <optional>
#include <string>

#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_errno.h>
#include <rdma/providers/fi_prov.h>

#include "exs/msg.h"
#include "fabric/fid.h"
#include "fabric/source.h"

namespace exs::fabric {
namespace {

bool is_subset(std::uint64_t asked, std::uint64_t offered) noexcept {
  return (asked & ~offered) == 0;
}

template <typename Attr>
bool has_sound_key(const Attr& asked) noexcept {
  return asked.auth_key_size == 0 || (asked.auth_key_size == kKeyBytes && asked.auth_key != nullptr);
}

bool is_name(const char* asked) noexcept {
  return asked == nullptr || std::strcmp(asked, kName) == 0;
}

// The attributes of either direction are within the offer.
template <typename Attr>
bool suits(const Attr& asked, std::uint64_t flags) noexcept {
  return is_subset(asked.caps, kCaps) && is_subset(asked.op_flags, flags) &&
         is_subset(asked.msg_order, FI_ORDER_SAS) && asked.comp_order == FI_ORDER_NONE &&
         asked.size <= kDepth && asked.iov_limit <= kPiecesMax;
}

bool suits(const fi_tx_attr* asked) noexcept {
  return asked == nullptr ||
         (suits(*asked, kSendFlags) && asked->inject_size <= kInjectBytes && asked->rma_iov_limit == 0);
}

bool suits(const fi_rx_attr* asked) noexcept {
  return asked == nullptr || suits(*asked, kReceiveFlags);
}

bool suits(const fi_ep_attr* asked) noexcept {
  if (asked == nullptr) return true;
  const bool is_ours = asked->protocol == FI_PROTO_UNSPEC || asked->protocol == kProtocol;
  return (asked->type == FI_EP_UNSPEC || asked->type == FI_EP_RDM) && is_ours && asked->tx_ctx_cnt <= 1 &&
         asked->rx_ctx_cnt <= 1 && has_sound_key(*asked);
}

bool suits(const fi_domain_attr* asked) noexcept {
  if (asked == nullptr) return true;
  return is_name(asked->name) && asked->cq_data_size <= kDataBytes && is_subset(asked->caps, kCaps) &&
         asked->max_ep_tx_ctx <= 1 && asked->max_ep_rx_ctx <= 1 && has_sound_key(*asked);
}

bool suits(const fi_fabric_attr* asked) noexcept {
  return asked == nullptr || (is_name(asked->name) && is_name(asked->prov_name));
}

bool suits(const fi_info* hints) noexcept {
  if (hints == nullptr) return true;
  return is_subset(hints->caps, kCaps) && hints->addr_format == FI_FORMAT_UNSPEC && suits(hints->tx_attr) &&
         suits(hints->rx_attr) && suits(hints->ep_attr) && suits(hints->domain_attr) &&
         suits(hints->fabric_attr);
}

// Returns the requested capabilities, and those that are implied.
std::uint64_t caps_for(const fi_info* hints) noexcept {
  if (hints == nullptr || hints->caps == 0) return kCaps;
  std::uint64_t caps = hints->caps | FI_LOCAL_COMM | FI_REMOTE_COMM;
  if ((caps & (FI_SEND | FI_RECV)) == 0) caps |= FI_SEND | FI_RECV;
  return caps;
}

template <typename Attr>
void describe_direction(Attr& attr, const Attr* asked, std::uint64_t caps) noexcept {
  attr.caps = caps;
  attr.op_flags = asked == nullptr ? 0 : asked->op_flags;
  attr.msg_order = FI_ORDER_SAS;
  attr.comp_order = FI_ORDER_NONE;
  attr.size = kDepth;
  attr.iov_limit = kPiecesMax;
}

void describe_transfers(fi_info& info, const fi_info* hints) noexcept {
  describe_direction(*info.tx_attr, hints == nullptr ? nullptr : hints->tx_attr, info.caps & kSendCaps);
  info.tx_attr->inject_size = kInjectBytes;
  describe_direction(*info.rx_attr, hints == nullptr ? nullptr : hints->rx_attr, info.caps & kReceiveCaps);
}

void describe_endpoint(fi_ep_attr& ep) noexcept {
  ep.type = FI_EP_RDM;
  ep.protocol = kProtocol;
  ep.protocol_version = 1;
  ep.max_msg_size = std::numeric_limits<std::int64_t>::max();
  ep.mem_tag_format = kTagFormat;
  ep.tx_ctx_cnt = 1;
  ep.rx_ctx_cnt = 1;
}

// exs is safe with all threads, so it suits any threading model that an application asks for.
fi_threading threading_for(fi_threading asked) noexcept {
  return asked == FI_THREAD_UNSPEC ? FI_THREAD_SAFE : asked;
}

// Progress needs no calls, so manual progress suits it too.
fi_progress progress_for(fi_progress asked) noexcept {
  return asked == FI_PROGRESS_UNSPEC ? FI_PROGRESS_AUTO : asked;
}

// Before version 1.5 there are two modes only, of which the second requires nothing.
int memory_mode_for(std::uint32_t version, const fi_domain_attr* asked) noexcept {
  constexpr int kOldWords = FI_MR_BASIC | FI_MR_SCALABLE;
  if (asked != nullptr && (asked->mr_mode & kOldWords) != 0) return asked->mr_mode & kOldWords;
  return FI_VERSION_LT(version, FI_VERSION(1, 5)) ? FI_MR_SCALABLE : 0;
}

void describe_domain(fi_domain_attr& domain, std::uint32_t version, const fi_info* hints) {
  const fi_domain_attr* const asked = hints == nullptr ? nullptr : hints->domain_attr;
  domain.name = strdup(kName);
  domain.threading = threading_for(asked == nullptr ? FI_THREAD_UNSPEC : asked->threading);
  domain.control_progress = progress_for(asked == nullptr ? FI_PROGRESS_UNSPEC : asked->control_progress);
  domain.data_progress = progress_for(asked == nullptr ? FI_PROGRESS_UNSPEC : asked->data_progress);
  domain.resource_mgmt = FI_RM_ENABLED;
  domain.av_type = asked != nullptr && asked->av_type != FI_AV_UNSPEC ? asked->av_type : FI_AV_TABLE;
  domain.mr_mode = memory_mode_for(version, asked);
  domain.mr_key_size = sizeof(std::uint64_t);
  domain.cq_data_size = kDataBytes;
  domain.cq_cnt = kDepth;
  domain.ep_cnt = kDepth;
  domain.tx_ctx_cnt = kDepth;
  domain.rx_ctx_cnt = kDepth;
  domain.max_ep_tx_ctx = 1;
  domain.max_ep_rx_ctx = 1;
  domain.cntr_cnt = kDepth;
  domain.mr_iov_limit = kPiecesMax;
  domain.mr_cnt = kDepth;
  domain.caps = FI_LOCAL_COMM | FI_REMOTE_COMM;
}

// Returns false if memory ran out.
template <typename Byte>
bool copy_bytes(const void* from, std::size_t bytes, Byte*& into, std::size_t& into_bytes) {
  if (from == nullptr || bytes == 0) return true;
  into = static_cast<Byte*>(std::malloc(bytes));
  if (into == nullptr) return false;
  std::memcpy(into, from, bytes);
  into_bytes = bytes;
  return true;
}

// Copies the requested keys. Returns false if memory ran out.
bool copy_keys(fi_info& info, const fi_info* hints) {
  if (hints == nullptr) return true;
  const fi_ep_attr* const ep = hints->ep_attr;
  const fi_domain_attr* const domain = hints->domain_attr;
  if (ep != nullptr &&
      !copy_bytes(ep->auth_key, ep->auth_key_size, info.ep_attr->auth_key, info.ep_attr->auth_key_size))
    return false;
  return domain == nullptr || copy_bytes(domain->auth_key, domain->auth_key_size, info.domain_attr->auth_key,
                                         info.domain_attr->auth_key_size);
}

// Returns where endpoints listen. Nothing: the request cannot be met.
std::optional<std::string> source_for(const char* node, const char* service, std::uint64_t flags,
                                      const fi_info* hints) {
  const bool is_named = node != nullptr || service != nullptr;
  if (is_named && (flags & FI_SOURCE) != 0) return source_of(node, service, flags);
  // A peer's name holds more than its listening address, so a node cannot be turned into one.
  if (is_named) return std::nullopt;
  if (hints == nullptr || hints->src_addr == nullptr) return kAnySource;
  return read_source(hints->src_addr, hints->src_addrlen);
}

bool is_peer(const fi_info* hints) noexcept {
  return hints == nullptr || hints->dest_addr == nullptr || hints->dest_addrlen == EXM_NAME_BYTES;
}

bool set_addresses(fi_info& info, const std::string& source, const fi_info* hints) {
  if (!copy_bytes(source.c_str(), source.size() + 1, info.src_addr, info.src_addrlen)) return false;
  return hints == nullptr ||
         copy_bytes(hints->dest_addr, hints->dest_addrlen, info.dest_addr, info.dest_addrlen);
}

}  // namespace

int get_info(std::uint32_t version, const char* node, const char* service, std::uint64_t flags,
             const fi_info* hints, fi_info** info) {
  return guarded([&]() -> int {
    if (!suits(hints) || !is_peer(hints)) return -FI_ENODATA;
    const std::optional<std::string> source = source_for(node, service, flags, hints);
    if (!source) return -FI_ENODATA;
    fi_info* const made = fi_allocinfo();
    if (made == nullptr) return -FI_ENOMEM;
    made->caps = caps_for(hints);
    made->addr_format = FI_FORMAT_UNSPEC;
    describe_transfers(*made, hints);
    describe_endpoint(*made->ep_attr);
    describe_domain(*made->domain_attr, version, hints);
    made->fabric_attr->name = strdup(kName);
    made->fabric_attr->prov_version = kVersion;
    const bool is_whole = made->domain_attr->name != nullptr && made->fabric_attr->name != nullptr &&
                          copy_keys(*made, hints) && set_addresses(*made, *source, hints);
    if (!is_whole) {
      fi_freeinfo(made);
      return -FI_ENOMEM;
    }
    *info = made;
    return 0;
  });
}

}  // namespace exs::fabric
