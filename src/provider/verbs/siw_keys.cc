// SPDX-License-Identifier: BSD-2-Clause
#include "src/provider/verbs/siw_keys.h"

#include <linux/types.h>
#include <rdma/siw-abi.h>
#include <unistd.h>

#include <bit>

namespace exs::verbs {
namespace {

constexpr std::uint32_t kVendor = 0x626d74;  // "bmt", siw's author

// A completion queue is an array of entries with a little behind it; siw makes the entries a power of two.
constexpr std::size_t kEntryBytes = sizeof(siw_cqe);

constexpr std::size_t pages_of(std::size_t entries, std::size_t page_bytes) {
  return (entries * kEntryBytes + sizeof(siw_cq_ctrl) + page_bytes - 1) / page_bytes;
}

OwnedCq make(ibv_context* context, std::size_t entries) {
  return OwnedCq(::ibv_create_cq(context, static_cast<int>(entries), nullptr, nullptr, 0));
}

}  // namespace

OwnedCq hold_misread_key(ibv_context* context, const ibv_device_attr& limits) {
  if (limits.vendor_id != kVendor) return nullptr;
  const auto page_bytes = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
  const std::size_t misread = SIW_INVAL_UOBJ_KEY / page_bytes;
  // A queue that ends before the page, while one is made behind it that covers the page.
  const std::size_t before = std::bit_floor((misread - 1) * page_bytes / kEntryBytes - 1);
  const std::size_t first_page = pages_of(before, page_bytes);
  const std::size_t across = std::bit_ceil((misread - first_page) * page_bytes / kEntryBytes);
  const OwnedCq below = make(context, before);
  return below ? make(context, across) : nullptr;
}

}  // namespace exs::verbs
