// The transport by which a server of libtirpc gets requests of all links: its descriptor is readable while a link has something. So
// svc_run(), and a program's own loop over svc_fdset or svc_pollfd, serve links too. Thread: the one that serves requests; also the
// library's own threads, and a thread that ends a transport.
//
// Design notes
//  1. Nothing of exs begins before a client asks for a link: a program may fork and close descriptors before that.
//  2. The hub waits for more for a while after each request. A client often asks again at once, and then the way back through poll()
//     would cost more than the request.
//  3. It destroys no transport: the loop above may hold descriptors that were ready before. The end of the connection does that.
//  4. With threads (exs_sunrpc_threads) each thread has a queue for the events of its links. RPCSEC_GSS stays with the program's thread.
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <rpc/rpc.h>

#include <array>
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "rpc/channel/link.h"
#include "rpc/sunrpc/rendezvous.h"
#include "rpc/sunrpc/server_transport.h"

namespace exs::rpc {

class Hub {
 public:
  static Hub& instance();

  // Called before the first offer; these threads serve links then. Returns 0, EINVAL or EBUSY.
  int use_threads(unsigned threads);
  [[nodiscard]] bool has_threads() const { return !workers_.empty(); }
  // Passes a message that the program's thread must serve, and all later ones, to that thread. Returns false if the caller should serve
  // it.
  bool pass_on(ServerTransport& transport);

  // Answers a client's offer, which arrived by this transport. Throws std::bad_alloc. All else is called by libtirpc, whose frames no
  // exception may pass, and so throws nothing.
  Answer answer(SVCXPRT* transport, const Offer& offer);
  // The transport has no link any more, and may be gone.
  void forget(const ServerTransport& transport);

 private:
  static constexpr std::size_t kNoWorker = SIZE_MAX;
  static constexpr std::size_t kNoPlace = SIZE_MAX;
  struct Worker {
    exs_qhandle_t queue = EXS_QHANDLE_INVALID;
    MessageBuffer reply;
    std::size_t links = 0;  // counted by idlest_worker()
  };
  struct Token {
    std::array<char, kTokenBytes> bytes;
    ServerTransport* transport;
    std::int64_t end_ns;
  };
  // A link, from its connection on.
  struct Place {
    std::unique_ptr<Link> stranger;              // while it has not sent its token
    std::shared_ptr<ServerTransport> transport;  // after that
    std::uint32_t generation = 0;
    std::size_t worker = kNoWorker;
    std::int64_t end_ns = 0;  // the time limit of a stranger
  };
  struct Listener {
    int socket;
    sockaddr_storage address;
    socklen_t length;
    std::uint16_t port;
    bool accepts;  // an accept is posted
  };

  static bool_t receive(SVCXPRT* transport, rpc_msg* message);
  static void destroy(SVCXPRT* transport);

  using Lock = std::unique_lock<std::mutex>;
  // Empty while one thread serves all.
  Lock lock();
  bool start();
  void start_workers();
  bool start_worker();
  static void* work(void* worker);
  [[nodiscard]] std::size_t idlest_worker();
  const Listener* listen_at(SVCXPRT* transport);
  [[nodiscard]] bool post_accept(const Listener& listener) const;
  bool add_token(ServerTransport& transport, std::array<char, kTokenBytes>& bytes);
  ServerTransport* take_token(std::span<const std::byte> bytes);
  void serve();
  void take(const exs_event_t& event);
  void take_accept(const exs_event_t& event);
  void take_of_stranger(Place& place, const exs_event_t& event);
  [[nodiscard]] std::size_t free_place();
  void accept(int socket);
  void greet(Place& place);
  void end(Place& place);
  void drop_late_strangers();
  [[nodiscard]] Place* place_of(exs_ahandle_t handle);
  [[nodiscard]] exs_ahandle_t handle_of(std::size_t index) const;

  exs_qhandle_t queue_ = EXS_QHANDLE_INVALID;
  unsigned threads_ = 0;
  std::vector<std::unique_ptr<Worker>> workers_;
  std::mutex mutex_;  // guards all below
  SVCXPRT transport_{};
  std::vector<Listener> listeners_;
  std::vector<Token> tokens_;
  std::vector<Place> places_;
  std::size_t strangers_ = 0;
  MessageBuffer reply_;
  int depth_ = 0;
};

}  // namespace exs::rpc
