// Memory that a program leaves open to its peer, and the events that tell of the peer's use.
// SPDX-License-Identifier: BSD-2-Clause
#ifndef EXS_CPP_SHARED_MEMORY_HPP
#define EXS_CPP_SHARED_MEMORY_HPP

#include <exs/cpp/loop.hpp>

#include <memory>

namespace exs::cpp {

// What the peer has done with the memory since the use before.
// Without an error: the peer has read or written. Else the memory is no longer open to it: ECANCELED, ECONNRESET and
// what else the event of a persistent operation may say; also when the post was refused.
struct [[nodiscard]] PeerUse : Outcome {
  std::uint32_t transfers = 0;
  std::size_t bytes = 0;
  std::uint64_t offset = 0;  // of the last transfer

  std::size_t value() const {
    Outcome::value();
    return bytes;
  }
};

namespace detail {

// The operation behind a SharedMemory, which may be gone before the peer has let go of the memory.
class OpenMemory final : public Operation {
 public:
  template <typename Post>
  OpenMemory(Loop* loop, const Post& post) noexcept {
    ended_ = loop == nullptr ? error_of(ECANCELED) : loop->start(*this, post);
  }
  [[nodiscard]] bool has_news() const noexcept { return ended_ || use_.transfers > 0; }
  [[nodiscard]] PeerUse take() noexcept {
    if (use_.transfers > 0) return std::exchange(use_, {});
    return {{ended_}, 0, 0, 0};
  }
  void wait(std::coroutine_handle<> waiter) noexcept { waiter_ = waiter; }
  void close() noexcept {
    if (!ended_) exs_cancel(-1, static_cast<Operation*>(this), EXS_CAF_AHANDLE);
  }
  // Its owner has gone.
  void abandon() noexcept {
    if (ended_) return delete this;
    abandoned_ = true;
    close();
  }

 private:
  bool hear(const exs_event_t& notice) override {
    if (notice.exs_evt_type != EXS_EVT_PEER_READ && notice.exs_evt_type != EXS_EVT_PEER_WRITE) return false;
    use_.transfers += exs_event_count(&notice);
    use_.bytes += exs_event_bytes(&notice);
    use_.offset = exs_event_offset(&notice);
    tell();
    return true;
  }
  void complete() override {
    // An end without an error is an end, too.
    ended_ = error_of(event_.exs_evt_errno != 0 ? event_.exs_evt_errno : ECANCELED);
    if (abandoned_) return delete this;
    tell();
  }
  void tell() {
    if (waiter_) std::exchange(waiter_, nullptr).resume();
  }

  std::error_code ended_;
  PeerUse use_;
  bool abandoned_ = false;
};

}  // namespace detail

// A persistent send (the peer reads) or receive (the peer writes). The memory must stay valid until next() gives an
// error; destroying this object, or close(), asks for the memory back.
class SharedMemory {
 public:
  template <typename Post>
  SharedMemory(Loop* loop, const Post& post) : memory_(new detail::OpenMemory(loop, post)) {}

  // co_await gives a PeerUse: what the peer has done since the one before, at once if it has done something. By one
  // coroutine at a time; this object stays until it has resumed.
  [[nodiscard]] auto next() noexcept {
    struct Await {
      detail::OpenMemory& memory;
      [[nodiscard]] bool await_ready() const noexcept { return memory.has_news(); }
      void await_suspend(std::coroutine_handle<> waiter) const noexcept { memory.wait(waiter); }
      [[nodiscard]] PeerUse await_resume() const noexcept { return memory.take(); }
    };
    return Await{*memory_};
  }
  // Takes the memory back from the peer; next() tells when it has.
  void close() noexcept { memory_->close(); }

 private:
  struct Abandon {
    void operator()(detail::OpenMemory* memory) const noexcept { memory->abandon(); }
  };
  std::unique_ptr<detail::OpenMemory, Abandon> memory_;
};

}  // namespace exs::cpp

#endif  // EXS_CPP_SHARED_MEMORY_HPP
