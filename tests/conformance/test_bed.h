// The objects that refused calls are tried on. Each is created when it is first used. A check shows that the
// call has changed nothing.
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <optional>

#include "tests/support/exs_fixture.h"

namespace exs::test {

class TestBed {
 public:
  InitializedLibrary library;
  Queue queue{1024};
  Memory memory{1 << 16};

  [[nodiscard]] exs_qhandle_t q() const { return queue.handle(); }
  [[nodiscard]] exs_mhandle_t mh() const { return memory.handle(); }
  [[nodiscard]] void* at(std::size_t offset_bytes = 0) { return memory.at(offset_bytes); }

  // A queue whose only slot is taken by an event.
  exs_qhandle_t full() {
    if (!full_) {
      full_.emplace(1);
      exs_qpost(full_->handle(), nullptr, nullptr);
    }
    return full_->handle();
  }
  int fresh() {
    if (fresh_ < 0) fresh_ = exs_socket(AF_INET, SOCK_SEQPACKET, 0);
    return fresh_;
  }
  int listening() {
    if (!listening_) listening_.emplace();
    return listening_->number();
  }
  // The address of a listening socket.
  sockaddr_in* somebody() {
    listening();
    address_ = listening_->address();
    return &address_;
  }
  [[nodiscard]] sockaddr* name() { return generic(*somebody()); }
  static constexpr socklen_t kNameBytes = sizeof(sockaddr_in);
  int connected() { return pair().left; }
  int peer() { return pair().right; }
  Pair& pair();
  int stream() {
    if (!stream_) stream_.emplace(queue, SOCK_STREAM);
    return stream_->left;
  }
  // One end of a pair of connected kernel sockets.
  int kernel();
  // A socket whose address another socket has begun to listen on.
  int forestalled();
  // Posts two receives that stay open.
  void receiving();
  // Memory of exs_alloc with an open receive.
  void* receiving_allocated();
  int connecting();  // a socket whose connect waits for the peer's accept
  // Memory that no peer may read or write.
  exs_mhandle_t local_only() {
    if (!local_only_) local_only_.emplace(1 << 16, EXS_MRF_LOCAL_ONLY);
    return local_only_->handle();
  }
  void* local_only_at() {
    local_only();
    return local_only_->at();
  }
  // Memory that may be read.
  static constexpr std::size_t kReadOnlyBytes = 1 << 16;
  void* read_only();
  // Handles that were valid once, one of each kind.
  exs_qhandle_t stale_queue() {
    const exs_qhandle_t deleted = exs_qcreate(1);
    exs_qdelete(deleted);
    return deleted;
  }
  exs_mhandle_t stale_region() {
    const Memory gone(64);
    return gone.handle();
  }
  static constexpr int kNoDescriptor = 100'000;

  ~TestBed();
  TestBed() = default;
  TestBed(const TestBed&) = delete;
  TestBed& operator=(const TestBed&) = delete;

 private:
  std::optional<Queue> full_;
  int fresh_ = -1;
  int connecting_ = -1;
  bool receiving_ = false;
  int rival_ = -1;
  int kernel_[2] = {-1, -1};
  void* allocated_ = nullptr;
  void* read_only_ = nullptr;
  sockaddr_in address_{};
  std::optional<ListeningSocket> listening_;
  std::optional<Pair> pair_;
  std::optional<Pair> stream_;
  std::optional<Memory> local_only_;
};

// One entry of a manual page: the function fails with this error when it is called like this.
struct Refusal {
  const char* function;
  int error;
  const char* when;
  int (*call)(TestBed&);
};

inline std::ostream& operator<<(std::ostream& out, const Refusal& refusal) {
  return out << refusal.function << " " << errno_name(refusal.error) << ": " << refusal.when;
}

// Makes the call, and checks that it fails and has changed nothing.
void check_refusal(const Refusal& refusal);

}  // namespace exs::test
