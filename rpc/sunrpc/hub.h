// Where a server of libtirpc gets what comes by links: one transport more, whose descriptor is readable while one of them has
// something. So svc_run(), and a program's own loop over svc_fdset or svc_pollfd, serves them, too. Thread: the one that serves requests; others of its own, and who ends a transport.
//
// Design notes
// 1. Nothing of exs begins before a client asks for a link: a program may fork and close descriptors before that.
// 2. The hub looks for more for a while after each request, because whoever asks often asks again at once, and then the way back
//    through poll() would cost more than the request.
// 3. It destroys no transport: the loop above may hold descriptors that were ready before. The end of the connection does.
// 4. With threads (exs_sunrpc_threads) each has a queue, where the events of its links go. RPCSEC_GSS stays with the program's thread.
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

  // Before the first offer; links are served by these then. 0, EINVAL, EBUSY.
  int use_threads(unsigned threads);
  [[nodiscard]] bool has_threads() const { return !workers_.empty(); }
  // A message that the program's thread must serve goes there, and all that follow. False: it is for the caller.
  bool pass_on(ServerTransport& transport);

  // To a client that has asked by this transport.
  Answer answer(SVCXPRT* transport, const Offer& offer);
  // The transport has no link any more, and may be gone.
  void forget(const ServerTransport& transport);

 private:
  static constexpr std::size_t kNoWorker = SIZE_MAX;
  struct Worker {
    exs_qhandle_t queue = EXS_QHANDLE_INVALID;
    MessageBuffer reply;
  };
  struct Token {
    std::array<char, kTokenBytes> bytes;
    ServerTransport* transport;
    std::int64_t end_ns;
  };
  // A link, from its connection on.
  struct Place {
    std::unique_ptr<Link> stranger;              // it has not said its token yet
    std::shared_ptr<ServerTransport> transport;  // it has
    std::uint32_t generation = 0;
    std::size_t worker = kNoWorker;
    std::int64_t end_ns = 0;  // of a stranger
  };
  struct Listener {
    int socket;
    sockaddr_storage address;
    socklen_t length;
    std::uint16_t port;
  };

  static bool_t receive(SVCXPRT* transport, rpc_msg* message);
  static void destroy(SVCXPRT* transport);

  using Lock = std::unique_lock<std::mutex>;
  // None while one thread serves all.
  Lock lock();
  bool start();
  void start_workers();
  static void* work(void* worker);
  [[nodiscard]] std::size_t idlest_worker() const;
  const Listener* listen_at(SVCXPRT* transport);
  bool add_token(ServerTransport& transport, std::array<char, kTokenBytes>& bytes);
  ServerTransport* take_token(std::span<const std::byte> bytes);
  void serve();
  void take(const exs_event_t& event);
  void take_of_stranger(Place& place, const exs_event_t& event);
  void accept(int socket);
  void greet(Place& place);
  void end(Place& place);
  void drop_late_strangers();
  [[nodiscard]] Place* place_of(exs_ahandle_t handle);
  [[nodiscard]] exs_ahandle_t handle_of(std::size_t index) const;

  exs_qhandle_t queue_ = EXS_QHANDLE_INVALID;
  unsigned threads_ = 0;
  std::vector<std::unique_ptr<Worker>> workers_;
  std::mutex mutex_;  // of all below
  SVCXPRT transport_{};
  std::vector<Listener> listeners_;
  std::vector<Token> tokens_;
  std::vector<Place> places_;
  std::size_t strangers_ = 0;
  MessageBuffer reply_;
  int depth_ = 0;
};

}  // namespace exs::rpc
