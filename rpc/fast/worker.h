// A thread of a server: its queue, its clients, and the memory that its requests share. Thread: its own, except for adopt(), wake() and
// clients().
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <sys/socket.h>

#include <atomic>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "base/annotations.h"
#include "base/drive_lock.h"
#include "base/status.h"
#include "rpc/fast/binding.h"
#include "rpc/fast/watched_window.h"

namespace exs::rpc {

// Takes the events of listening sockets.
class ClientAcceptor {
 public:
  virtual ~ClientAcceptor() = default;
  // Returns false if accepts have ended: call accept_again().
  [[nodiscard]] virtual bool take_accept(const exs_event_t& event) = 0;
  // Returns false if there is still not enough memory.
  [[nodiscard]] virtual bool accept_again() = 0;
};

class ServerWorker final : public WindowHost {
 public:
  ServerWorker(const std::vector<ServedInterface>& services, const ServerSettings& settings,
               WindowTokens& tokens, std::atomic<std::uint32_t>& clients)
      : parts_{services, settings, tokens, *this}, all_clients_(clients) {}
  ~ServerWorker();
  ServerWorker(const ServerWorker&) = delete;
  ServerWorker& operator=(const ServerWorker&) = delete;

  Status make_queue();
  [[nodiscard]] exs_qhandle_t queue() const { return queue_; }
  // Serves until `stop` is set, followed by wake().
  void run(const std::atomic<bool>& stop, ClientAcceptor& acceptor);
  // Returns false if memory ran out.
  [[nodiscard]] bool adopt_client(int socket) { return adopt(socket, nullptr); }
  [[nodiscard]] bool adopt_window(int socket, std::shared_ptr<Binding> client) override {
    return adopt(socket, std::move(client));
  }
  void wake();
  [[nodiscard]] std::uint32_t clients() const { return clients_.load(std::memory_order_relaxed); }

 private:
  // The place of a binding or a window. Late events of a former one have an older generation.
  struct ClientPlace {
    std::shared_ptr<Binding> binding;       // or
    std::unique_ptr<WatchedWindow> window;  // of a client in another place
    std::uint32_t generation = 0;
  };
  struct AdoptedSocket {
    std::shared_ptr<Binding> client;  // the owner of the window
    int socket;
  };

  [[nodiscard]] exs_ahandle_t handle_of(std::uint32_t index) const;
  [[nodiscard]] std::int64_t limit_ns() const;
  void accept_again(ClientAcceptor& acceptor);
  void take_event(const exs_event_t& event, ClientAcceptor& acceptor);
  void take_event_of(std::uint32_t index, const exs_event_t& event);
  Status pass_event(std::uint32_t index, const exs_event_t& event);
  void take_adopted() EXS_EXCLUDES(mutex_);
  bool adopt(int socket, std::shared_ptr<Binding> client) EXS_EXCLUDES(mutex_);
  void add_client(int socket);
  void add_window(AdoptedSocket& adopted);
  [[nodiscard]] bool make_place();
  [[nodiscard]] bool make_binding(int socket);
  [[nodiscard]] bool make_window(AdoptedSocket& adopted);
  std::uint32_t take_place();
  void end_place(std::uint32_t index);
  void end_binding(std::uint32_t index);
  void watch_window(std::uint32_t index);
  Status look_at_window(std::uint32_t index, bool& has_served);
  bool look_at_windows(bool has_news);
  void let_windows_sleep();
  void end_late_clients();
  void deepen_queue();
  void close_unseen_clients() const;

  WorkerMemory memory_;
  const ServerParts parts_;
  std::atomic<std::uint32_t>& all_clients_;
  exs_qhandle_t queue_ = EXS_QHANDLE_INVALID;
  int depth_ = 0;
  std::uint32_t greeted_ = 0;  // clients
  unsigned busy_looks_ = 0;
  std::vector<ClientPlace> places_;
  std::vector<std::uint32_t> free_places_;
  std::vector<std::uint32_t> ungreeted_;
  std::vector<std::uint32_t> watched_;        // windows that the worker watches
  std::uint64_t accept_again_ns_ = kNeverNs;  // when to post accepts again that have ended
  std::atomic<std::uint32_t> clients_{0};
  std::atomic<bool> has_adopted_{false};
  Mutex mutex_;
  std::vector<AdoptedSocket> adopted_ EXS_GUARDED_BY(mutex_);
};

}  // namespace exs::rpc
