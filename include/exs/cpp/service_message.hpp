// What arrives: messages and requests at a service, and replies at who asked.
// SPDX-License-Identifier: BSD-2-Clause
#ifndef EXS_CPP_SERVICE_MESSAGE_HPP
#define EXS_CPP_SERVICE_MESSAGE_HPP

#include <exs/cpp/service_items.hpp>
#include <exs/cpp/service_names.hpp>

#include <algorithm>
#include <chrono>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

namespace exs::cpp {

class ServiceReplying;
namespace detail {
class ServiceState;
}

struct ServiceReplyOptions {
  std::int32_t status = 0;  // has no meaning for exs
  ServiceLongs longs{};
  bool more = false;  // a part of the reply: another one follows
};

// A message, or the reason why there is none. The destructor releases it; a request without a last reply then ends with ECANCELED. It may
// outlive its service and its node.
class [[nodiscard]] ServiceMessage : public Outcome {
 public:
  ServiceMessage() noexcept = default;
  explicit ServiceMessage(std::error_code why) noexcept : Outcome{why} {}
  // Takes it over. `service`: at which it arrived.
  explicit ServiceMessage(const exs_svc_message_t* message,
                          std::shared_ptr<detail::ServiceState> service = {},
                          bool is_request = false) noexcept
      : message_(message), service_(std::move(service)), is_request_(is_request) {}
  ~ServiceMessage() { exs_svc_release(message_); }
  ServiceMessage(ServiceMessage&& other) noexcept
      : Outcome(other),
        message_(std::exchange(other.message_, nullptr)),
        service_(std::move(other.service_)),
        is_request_(other.is_request_) {}
  ServiceMessage& operator=(ServiceMessage&& other) noexcept {
    std::swap(error, other.error);
    std::swap(message_, other.message_);
    std::swap(service_, other.service_);
    std::swap(is_request_, other.is_request_);
    return *this;
  }

  // Throw the error.
  ServiceMessage& value() & {
    Outcome::value();
    return *this;
  }
  const ServiceMessage& value() const& {
    Outcome::value();
    return *this;
  }
  ServiceMessage value() && {
    Outcome::value();
    return std::move(*this);
  }

  [[nodiscard]] std::size_t items_count() const noexcept {
    return message_ == nullptr ? 0 : message_->items_count;
  }
  [[nodiscard]] std::size_t longs_count() const noexcept {
    return message_ == nullptr ? 0 : message_->longs_count;
  }
  // Its memory is valid until the message is destroyed. One that the sender has left out is empty.
  [[nodiscard]] std::span<std::byte> item(std::size_t number) const noexcept {
    return number < items_count() ? bytes_of(message_->items[number]) : std::span<std::byte>();
  }
  [[nodiscard]] std::span<std::byte> long_item(std::size_t number) const noexcept {
    return number < longs_count() ? bytes_of(message_->longs[number]) : std::span<std::byte>();
  }
  [[nodiscard]] std::string_view text(std::size_t number) const noexcept { return text_of(item(number)); }
  // The sender, with proof; of a reply: the service.
  [[nodiscard]] std::optional<ServiceId> from() const noexcept {
    if (message_ == nullptr) return std::nullopt;
    const auto& bytes = message_->from.bytes;
    if (std::all_of(std::begin(bytes), std::end(bytes), [](std::uint8_t byte) { return byte == 0; }))
      return std::nullopt;
    return ServiceId(message_->from);
  }
  [[nodiscard]] bool is_request() const noexcept { return is_request_; }
  // Of a request: how long its sender waits for the last reply; 0: without a limit.
  [[nodiscard]] std::chrono::nanoseconds limit() const noexcept {
    return std::chrono::nanoseconds(message_ == nullptr ? 0 : message_->limit_ns);
  }

  // Answers a request. co_await gives an Outcome: at once without long items, else when they belong to the program again; a part waits
  // for room if 64 are pending. The message must stay until then. EINVAL it is not a request; EMSGSIZE; ECANCELED its sender does not wait
  // any more, or the service is closed here; ECONNRESET the sender has gone, and did not accept the long items; ENOMEM.
  [[nodiscard]] inline ServiceReplying reply(const ServiceItems& items,
                                             const ServiceReplyOptions& options = {}) const;

 private:
  static std::span<std::byte> bytes_of(const exs_svc_item_t& item) noexcept {
    return {static_cast<std::byte*>(item.data), item.length};
  }

  const exs_svc_message_t* message_ = nullptr;
  std::shared_ptr<detail::ServiceState> service_;
  bool is_request_ = false;
};

// A reply, or one part of it.
class [[nodiscard]] ServiceReply : public ServiceMessage {
 public:
  using ServiceMessage::ServiceMessage;
  ServiceReply(const exs_svc_message_t* message, std::int32_t status, bool has_more) noexcept
      : ServiceMessage(message), status_(status), has_more_(has_more) {}

  ServiceReply& value() & {
    Outcome::value();
    return *this;
  }
  const ServiceReply& value() const& {
    Outcome::value();
    return *this;
  }
  ServiceReply value() && {
    Outcome::value();
    return std::move(*this);
  }
  // Of the service's program.
  [[nodiscard]] std::int32_t status() const noexcept { return status_; }
  // Another part follows.
  [[nodiscard]] bool has_more() const noexcept { return has_more_; }

  // Of ServicePeer::request(): the parts that came before the last one.
  std::vector<ServiceReply> parts;

 private:
  std::int32_t status_ = 0;
  bool has_more_ = false;
};

}  // namespace exs::cpp

#endif  // EXS_CPP_SERVICE_MESSAGE_HPP
