// A thread of a server: its queue, its clients, and the memory that its requests share. Thread: its own, except for adopt(), wake() and
// clients().
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "rpc/fast/binding.h"
#include "rpc/fast/server_window.h"

namespace exs::rpc {

// Takes the events of listening sockets.
class Acceptor {
 public:
  virtual ~Acceptor() = default;
  // Returns false if accepts have ended: call accept_again().
  virtual bool take(const exs_event_t& event) = 0;
  // Returns false if there is still not enough memory.
  virtual bool accept_again() = 0;
};

class Worker final : public WindowHost {
 public:
  Worker(const std::vector<Service>& services, const ServerSettings& settings, WindowTokens& tokens,
         std::atomic<std::uint32_t>& clients)
      : site_{services, settings, tokens, *this}, all_clients_(clients) {}
  ~Worker();
  Worker(const Worker&) = delete;
  Worker& operator=(const Worker&) = delete;

  // Returns false with errno.
  bool prepare();
  [[nodiscard]] exs_qhandle_t queue() const { return queue_; }
  // Serves until `stop` is set, followed by wake().
  void run(const std::atomic<bool>& stop, Acceptor& acceptor);
  // Returns false if memory ran out.
  bool adopt(int socket) { return adopt(socket, nullptr); }
  bool adopt_window(int socket, std::shared_ptr<Binding> client) override {
    return adopt(socket, std::move(client));
  }
  void wake();
  [[nodiscard]] std::uint32_t clients() const { return clients_.load(std::memory_order_relaxed); }

 private:
  // The place of a binding or a window. Late events of a former one have an older generation.
  struct Place {
    std::shared_ptr<Binding> binding;      // or
    std::unique_ptr<ServerWindow> window;  // of a client in another place
    std::uint32_t generation = 0;
  };
  struct Adopted {
    int socket;
    std::shared_ptr<Binding> client;  // the owner of the window
  };

  [[nodiscard]] exs_ahandle_t handle_of(std::uint32_t index) const;
  [[nodiscard]] std::int64_t limit_ns() const;
  void accept_again(Acceptor& acceptor);
  void take(const exs_event_t& event, Acceptor& acceptor);
  void take_of(std::uint32_t index, const exs_event_t& event);
  void take_adopted();
  bool adopt(int socket, std::shared_ptr<Binding> client);
  void add(int socket);
  void add_window(Adopted& adopted);
  bool make_place();
  bool make_binding(int socket);
  bool make_window(Adopted& adopted);
  void end(std::uint32_t index);
  void end_binding(std::uint32_t index);
  void watch(std::uint32_t index);
  bool look_at(std::uint32_t index, bool& has_served);
  bool look_at_windows(bool has_news);
  void let_windows_sleep();
  void end_late();
  void deepen();

  const Site site_;
  std::atomic<std::uint32_t>& all_clients_;
  exs_qhandle_t queue_ = EXS_QHANDLE_INVALID;
  int depth_ = 0;
  std::uint32_t greeted_ = 0;  // clients
  std::vector<Place> places_;
  std::vector<std::uint32_t> free_places_;
  std::vector<std::uint32_t> ungreeted_;
  std::int64_t accept_again_ns_ = INT64_MAX;  // when to post accepts again that have ended
  std::vector<std::uint32_t> watched_;        // windows that the worker watches
  unsigned busy_looks_ = 0;
  std::atomic<std::uint32_t> clients_{0};
  Workshop workshop_;
  std::mutex mutex_;
  std::vector<Adopted> adopted_;  // guarded by the mutex
  std::atomic<bool> has_adopted_{false};
};

}  // namespace exs::rpc
