#include "src/provider/shm/peer_socket.h"

#include <atomic>

#include "src/base/destroy_elsewhere.h"
#include "src/base/kernel.h"
#include "src/provider/shm/identity.h"

namespace exs::shm {
namespace {

std::atomic<std::size_t> g_closing{0};

struct Closing {
  explicit Closing(UniqueFd stranger) : socket(std::move(stranger)) { ++g_closing; }
  ~Closing() {
    if (!socket.valid()) return;  // moved from
    socket.reset();
    --g_closing;
  }
  Closing(Closing&&) = default;

  UniqueFd socket;
};

// One of our user could stop us anyway. Nobody is at the other end of a socket that is not connected.
bool is_another_users(int socket) {
  constexpr auto kNobody = static_cast<uid_t>(-1);
  const Result<Credentials> peer = Credentials::of_peer(socket);
  return !peer || (peer->uid != kNobody && peer->uid != kernel::geteuid());
}

}  // namespace

void PeerSocket::reset() noexcept {
  if (socket_.valid() && is_another_users(socket_.get())) destroy_elsewhere(Closing(std::move(socket_)));
  socket_.reset();
}

std::size_t PeerSocket::closing() noexcept {
  return g_closing;
}

}  // namespace exs::shm
