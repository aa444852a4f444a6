// The contents of messages to services: short items, which are copied, and long items, which stay where they are.
// SPDX-License-Identifier: BSD-2-Clause
#ifndef EXS_CPP_SERVICE_ITEMS_HPP
#define EXS_CPP_SERVICE_ITEMS_HPP

#include <exs/service.h>
#include <exs/cpp/objects.hpp>

#include <array>
#include <concepts>
#include <cstddef>
#include <ranges>
#include <span>
#include <string_view>
#include <utility>

namespace exs::cpp {
namespace detail {

template <typename T>
concept ServiceText = std::convertible_to<const T&, std::string_view>;
// Text, or memory as bytes: std::as_bytes(), std::vector<std::byte>.
template <typename T>
concept ServiceItem = ServiceText<T> || std::convertible_to<const T&, std::span<const std::byte>>;

template <ServiceItem T>
std::span<const std::byte> service_bytes_of(const T& item) noexcept {
  if constexpr (ServiceText<T>) {
    return bytes_of(std::string_view(item));
  } else {
    return std::span<const std::byte>(item);
  }
}

}  // namespace detail

// The short items of a message: peer.send({"add", number}), peer.send(texts), peer.send({}). It refers to their memory, which must stay
// valid until the message has been sent. The call refuses more than EXS_SVC_ITEMS_MAX with EMSGSIZE.
class ServiceItems {
 public:
  ServiceItems() noexcept = default;
  template <detail::ServiceItem... Items>
  requires(sizeof...(Items) > 0) ServiceItems(const Items&... items)
  noexcept { (add(detail::service_bytes_of(items)), ...); }
  template <std::ranges::input_range Range>
  requires(!detail::ServiceItem<Range> && detail::ServiceItem<std::ranges::range_value_t<Range>> &&
           std::is_lvalue_reference_v<std::ranges::range_reference_t<const Range>>)
      ServiceItems(const Range& items)
  noexcept {
    for (const auto& item : items) add(detail::service_bytes_of(item));
  }

  [[nodiscard]] const exs_svc_item_t* data() const noexcept { return items_.data(); }
  [[nodiscard]] int count() const noexcept { return count_; }

 private:
  void add(std::span<const std::byte> bytes) noexcept {
    if (count_ < EXS_SVC_ITEMS_MAX)
      items_[static_cast<std::size_t>(count_)] = {const_cast<std::byte*>(bytes.data()), bytes.size()};
    ++count_;
  }

  std::array<exs_svc_item_t, EXS_SVC_ITEMS_MAX> items_{};
  int count_ = 0;
};

// A piece of a ServiceLongs.
inline exs_iovec_t piece_of(std::span<const std::byte> memory,
                            exs_mhandle_t region = EXS_MHANDLE_UNREGISTERED) noexcept {
  return {const_cast<std::byte*>(memory.data()), memory.size(), region, 0};
}

// Memory of long items: one piece, or a span of them, which must stay valid like their memory until the operation has completed.
//
// It has no destructor, and nor have the options that contain it: g++ 12 destroys such an argument of a co_await twice.
template <typename Byte>
class ServicePieces {
 public:
  ServicePieces() noexcept = default;
  template <typename Memory>
  requires std::convertible_to<Memory, std::span<Byte>> ServicePieces(
      Memory&& memory, exs_mhandle_t region = EXS_MHANDLE_UNREGISTERED)
  noexcept : one_(piece_of(std::span<Byte>(std::forward<Memory>(memory)), region)), count_(1) {}
  ServicePieces(const Buffer& buffer) noexcept : ServicePieces(buffer.bytes(), buffer.region()) {}
  template <typename Pieces>
  requires std::convertible_to<const Pieces&, std::span<const exs_iovec_t>> ServicePieces(
      const Pieces& pieces)
  noexcept {
    const std::span<const exs_iovec_t> all(pieces);
    many_ = all.data();
    count_ = static_cast<int>(all.size());
  }

  [[nodiscard]] const exs_iovec_t* data() const noexcept { return many_ != nullptr ? many_ : &one_; }
  [[nodiscard]] int count() const noexcept { return count_; }

 private:
  exs_iovec_t one_{};
  const exs_iovec_t* many_ = nullptr;
  int count_ = 0;
};
using ServiceLongs = ServicePieces<const std::byte>;  // to read from
using ServiceReturns = ServicePieces<std::byte>;      // for long items of replies

}  // namespace exs::cpp

#endif  // EXS_CPP_SERVICE_ITEMS_HPP
