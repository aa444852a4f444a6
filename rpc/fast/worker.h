// A thread of a server: its queue, the clients that it serves, and what it reuses for each request. Thread: its own, but for adopt(),
// wake() and clients().
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "rpc/fast/binding.h"

namespace exs::rpc {

class Worker {
 public:
  // Where a listening socket's new connections go.
  using Accept = void (*)(void* server, int socket);

  Worker(const std::vector<Service>& services, const ServerSettings& settings,
         std::atomic<std::uint32_t>& clients)
      : services_(services), settings_(settings), all_clients_(clients) {}
  ~Worker();
  Worker(const Worker&) = delete;
  Worker& operator=(const Worker&) = delete;

  // False: errno.
  bool prepare();
  [[nodiscard]] exs_qhandle_t queue() const { return queue_; }
  // Serves until `stop` is set, and woken after it.
  void run(const std::atomic<bool>& stop, Accept accept, void* server);
  // False: there is no memory.
  bool adopt(int socket);
  void wake();
  [[nodiscard]] std::uint32_t clients() const { return clients_.load(std::memory_order_relaxed); }

 private:
  // A place of a binding. Events that were on their way when it ended have an older generation.
  struct Place {
    std::shared_ptr<Binding> binding;
    std::uint32_t generation = 0;
  };

  [[nodiscard]] exs_ahandle_t handle_of(std::uint32_t index) const;
  void take(const exs_event_t& event, Accept accept, void* server);
  void take_of(std::uint32_t index, const exs_event_t& event);
  void take_adopted();
  void add(int socket);
  bool make_binding(int socket);
  void end(std::uint32_t index);
  void end_late();
  void deepen();

  const std::vector<Service>& services_;
  const ServerSettings settings_;
  std::atomic<std::uint32_t>& all_clients_;
  exs_qhandle_t queue_ = EXS_QHANDLE_INVALID;
  int depth_ = 0;
  std::vector<Place> places_;
  std::vector<std::uint32_t> free_places_;
  std::vector<std::uint32_t> ungreeted_;
  std::atomic<std::uint32_t> clients_{0};
  Workshop workshop_;
  std::mutex mutex_;
  std::vector<int> adopted_;  // sockets, of the mutex
};

}  // namespace exs::rpc
