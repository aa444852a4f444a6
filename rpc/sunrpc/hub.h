// Where a server of libtirpc gets what comes by links: one transport more, whose descriptor is readable while one of them has
// something. So svc_run(), and a program's own loop over svc_fdset or svc_pollfd, serves them, too. Thread: the one that serves requests.
//
// Design notes
// 1. Nothing of exs begins before a client asks for a link: a program may fork and close descriptors before that.
// 2. The hub looks for more for a while after each request, because whoever asks often asks again at once, and then the way back
//    through poll() would cost more than the request.
// 3. It destroys no transport: the loop above may hold descriptors that were ready before. The end of the connection does.
#pragma once

#include <rpc/rpc.h>

#include <array>
#include <cstdint>
#include <memory>
#include <vector>

#include "rpc/channel/link.h"
#include "rpc/sunrpc/rendezvous.h"
#include "rpc/sunrpc/server_transport.h"

namespace exs::rpc {

class Hub {
 public:
  static Hub& instance();

  // To a client that has asked by this transport.
  Answer answer(SVCXPRT* transport, const Offer& offer);
  // The transport has no link any more, and may be gone.
  void forget(const ServerTransport& transport);

 private:
  struct Token {
    std::array<char, kTokenBytes> bytes;
    ServerTransport* transport;
    std::int64_t end_ns;
  };
  // A link, from its connection on.
  struct Place {
    std::unique_ptr<Link> stranger;        // it has not said its token yet
    ServerTransport* transport = nullptr;  // it has
    std::uint32_t generation = 0;
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

  bool start();
  const Listener* listen_at(SVCXPRT* transport);
  bool add_token(ServerTransport& transport, std::array<char, kTokenBytes>& bytes);
  ServerTransport* take_token(std::span<const std::byte> bytes);
  void serve();
  void take(const exs_event_t& event);
  void accept(int socket);
  void greet(Place& place);
  void end(Place& place);
  void drop_late_strangers();
  [[nodiscard]] Place* place_of(exs_ahandle_t handle);
  [[nodiscard]] exs_ahandle_t handle_of(std::size_t index) const;

  exs_qhandle_t queue_ = EXS_QHANDLE_INVALID;
  SVCXPRT transport_{};
  std::vector<Listener> listeners_;
  std::vector<Token> tokens_;
  std::vector<Place> places_;
  std::size_t strangers_ = 0;
  MessageBuffer reply_;
  int depth_ = 0;
};

}  // namespace exs::rpc
