// SPDX-License-Identifier: BSD-2-Clause
#include "perf/call_cost/loopback.h"

#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <utility>

namespace call_cost {

using exs::Completion;
using exs::CompletionKind;
using exs::LocalSlice;
using exs::Status;

namespace {

constexpr std::size_t kMessageBytesMax = 4096;
constexpr std::size_t kWireMessages = 8;

class Request final : public exs::ConnectionRequest {
 public:
  explicit Request(std::vector<std::byte> private_data) : private_data_(std::move(private_data)) {}
  [[nodiscard]] std::span<const std::byte> private_data() const noexcept override { return private_data_; }
  [[nodiscard]] int descriptor() const noexcept override { return -1; }
  int release_descriptor() noexcept override { return -1; }
  void reject(std::span<const std::byte>) noexcept override {}
  [[nodiscard]] bool peer_is_gone() const noexcept override { return false; }

 private:
  const std::vector<std::byte> private_data_;
};

}  // namespace

class LoopbackLink final : public exs::Link {
 public:
  LoopbackLink(LoopbackPort& port, const exs::ConnectParameters& parameters, std::uint64_t token)
      : port_(port), token_(token), hello_(parameters.private_data.begin(), parameters.private_data.end()) {}
  ~LoopbackLink() override {
    close();
    std::erase(port_.links_, this);
  }

  void join(LoopbackLink& peer) {
    peer_ = &peer;
    peer.peer_ = this;
  }
  void say(CompletionKind kind, std::uint64_t token = 0, std::uint32_t length_bytes = 0) {
    port_.ready_.push_back({kind, {}, length_bytes, token_, token});
  }
  [[nodiscard]] const std::vector<std::byte>& hello() const { return hello_; }

  [[nodiscard]] bool has_news() const noexcept { return landed_ != sent_ && !receives_.empty(); }
  // Returns true if a message has arrived.
  bool take_in() {
    if (landed_ == sent_ || receives_.empty()) return false;
    const Message& message = wire_[landed_++ % kWireMessages];
    const bool may_show = taker_ != nullptr && port_.ready_.empty();
    if (may_show && taker_->take(exs::ArrivingMessage(std::span(message.bytes).first(message.length))))
      return true;
    const Receive receive = receives_.back();
    receives_.pop_back();
    std::memcpy(receive.into.address, message.bytes.data(), message.length);
    say(CompletionKind::kReceive, receive.token, static_cast<std::uint32_t>(message.length));
    return true;
  }

  Status post_send(std::span<const std::byte> header, LocalSlice payload, std::uint64_t token) override {
    const Status status = send_now(header, payload);
    if (status.ok()) say(CompletionKind::kSend, token);
    return status;
  }
  Status send_now(std::span<const std::byte> header, LocalSlice payload) noexcept override {
    const std::size_t bytes = header.size() + payload.length_bytes;
    if (peer_ == nullptr) return Status(ENOTCONN);
    if (peer_->sent_ - peer_->landed_ == kWireMessages || bytes > kMessageBytesMax) return Status(EAGAIN);
    Message& message = peer_->wire_[peer_->sent_++ % kWireMessages];
    std::memcpy(message.bytes.data(), header.data(), header.size());
    if (payload.length_bytes > 0)
      std::memcpy(message.bytes.data() + header.size(), payload.address, payload.length_bytes);
    message.length = bytes;
    port_.ring();
    return {};
  }
  bool send_short(std::span<const std::byte> header, LocalSlice payload) noexcept override {
    return send_now(header, payload).ok();
  }
  [[nodiscard]] bool sends_short() const noexcept override { return true; }
  void show_messages_to(exs::MessageTaker& taker) override { taker_ = &taker; }
  Status post_recv(LocalSlice into, std::uint64_t token) override {
    receives_.push_back({into, token});
    return {};
  }
  Status post_read(LocalSlice, exs::RemoteSlice, std::uint64_t) override { return Status(ENOTCONN); }
  Status post_write(LocalSlice, exs::RemoteSlice, std::uint64_t) override { return Status(ENOTCONN); }
  exs::Result<exs::RemoteSlice> expose(LocalSlice, exs::Access) override { return exs::failure(ENOTCONN); }
  Status withdraw(std::uint32_t) override { return Status(ENOTCONN); }
  [[nodiscard]] std::span<const std::byte> private_data() const noexcept override { return peer_->hello_; }
  void close() noexcept override {
    if (peer_ != nullptr) peer_->peer_ = nullptr;
    peer_ = nullptr;
  }

 private:
  struct Receive {
    LocalSlice into;
    std::uint64_t token;
  };
  struct Message {
    std::size_t length = 0;
    std::array<std::byte, kMessageBytesMax> bytes;
  };

  LoopbackPort& port_;
  const std::uint64_t token_;
  const std::vector<std::byte> hello_;
  LoopbackLink* peer_ = nullptr;
  exs::MessageTaker* taker_ = nullptr;
  std::vector<Receive> receives_;
  std::array<Message, kWireMessages> wire_{};  // on their way to this link
  std::size_t sent_ = 0;
  std::size_t landed_ = 0;
};

LoopbackPort::LoopbackPort() : bell_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {}
LoopbackPort::~LoopbackPort() = default;

exs::Result<std::unique_ptr<exs::Link>> LoopbackPort::connect(int, const sockaddr*, socklen_t,
                                                              const exs::ConnectParameters& parameters,
                                                              std::uint64_t link_token) {
  auto link = std::make_unique<LoopbackLink>(*this, parameters, link_token);
  connecting_ = link.get();
  links_.push_back(link.get());
  return link;
}

std::unique_ptr<exs::ConnectionRequest> LoopbackPort::request() {
  return std::make_unique<Request>(connecting_->hello());
}

exs::Result<std::unique_ptr<exs::Link>> LoopbackPort::accept(std::unique_ptr<exs::ConnectionRequest>, int,
                                                             const exs::ConnectParameters& parameters,
                                                             std::uint64_t link_token) {
  auto link = std::make_unique<LoopbackLink>(*this, parameters, link_token);
  links_.push_back(link.get());
  link->join(*connecting_);
  link->say(CompletionKind::kEstablished);
  connecting_->say(CompletionKind::kEstablished);
  return link;
}

bool LoopbackPort::poll_memory(bool) {
  progress(0);
  return true;
}

bool LoopbackPort::arm() {
  armed_ = true;
  return !has_news();
}

void LoopbackPort::disarm() {
  armed_ = false;
  std::uint64_t rings = 0;
  [[maybe_unused]] const auto taken = ::read(bell_.get(), &rings, sizeof rings);
}

void LoopbackPort::ring() {
  if (!std::exchange(armed_, false)) return;
  const std::uint64_t one = 1;
  [[maybe_unused]] const auto written = ::write(bell_.get(), &one, sizeof one);
}

bool LoopbackPort::has_news() noexcept {
  return std::any_of(links_.begin(), links_.end(), [](const LoopbackLink* link) { return link->has_news(); });
}

void LoopbackPort::progress(std::uint64_t) {
  for (LoopbackLink* link : links_) arrivals_ += link->take_in() ? 1 : 0;
}

std::size_t LoopbackPort::poll(std::span<Completion> out) {
  std::size_t count = 0;
  for (; count < out.size() && !ready_.empty(); ++count) out[count] = ready_.pop_front();
  return count;
}

exs::Result<std::unique_ptr<exs::Port>> LoopbackProvider::open_port(exs::Reason& /*why_not*/) {
  auto made = std::make_unique<LoopbackPort>();
  port = made.get();
  return made;
}

}  // namespace call_cost
