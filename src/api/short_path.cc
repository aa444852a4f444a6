// SPDX-License-Identifier: BSD-2-Clause
#include "src/api/short_path.h"

#include <sys/socket.h>

#include "base/read_section.h"
#include "src/api/library.h"

namespace exs {
namespace {

// Accepted and ignored, as in the whole way.
constexpr int kPlain = MSG_DONTWAIT | MSG_NOSIGNAL | MSG_EOR | EXS_NO_EVENT;

// What the handles of a call name.
struct ShortTargets {
  Session* session = nullptr;
  EventQueue* queue = nullptr;
  Region* region = nullptr;

  // Call it in a ReadSection. False: it is for the whole way to say what is wrong.
  bool find(Library& library, int of_socket, exs_qhandle_t of_queue, exs_mhandle_t of_region) noexcept {
    const Socket* const socket = library.sockets.peek(of_socket);
    queue = library.queues.peek(of_queue);
    region = library.regions.peek(of_region);
    if (socket == nullptr || queue == nullptr || region == nullptr) return false;
    session = socket->session();
    return session != nullptr;
  }
};

// Null: the library is not initialised, or the thread has no record yet, for which memory may lack.
Library* library_of_thread() noexcept {
  return ThreadRecord::mine() != nullptr ? Library::current() : nullptr;
}

std::byte* piece_at(const void* buffer) noexcept {
  return static_cast<std::byte*>(const_cast<void*>(buffer));  // of a send: only ever read
}

}  // namespace

bool send_short(int socket, const void* buffer, size_t length, int flags, exs_qhandle_t queue,
                exs_ahandle_t handle, exs_mhandle_t region) noexcept {
  Library* const library = library_of_thread();
  if (library == nullptr || (flags & ~kPlain) != 0) return false;
  const ReadSection section;
  ShortTargets targets;
  if (!targets.find(*library, socket, queue, region) || !targets.region->contains(buffer, length))
    return false;
  return targets.session->send_short(*targets.queue,
                                     {piece_at(buffer), length, handle, region, (flags & EXS_NO_EVENT) != 0});
}

bool receive_short(int socket, void* buffer, size_t length, int flags, exs_qhandle_t queue,
                   exs_ahandle_t handle, exs_mhandle_t region) noexcept {
  Library* const library = library_of_thread();
  if (library == nullptr || (flags & ~kPlain) != 0) return false;
  const ReadSection section;
  ShortTargets targets;
  if (!targets.find(*library, socket, queue, region) || !targets.region->contains(buffer, length) ||
      !targets.region->writable())
    return false;
  return targets.session->receive_short(
      *targets.queue, *targets.region,
      {piece_at(buffer), length, handle, region, (flags & EXS_NO_EVENT) != 0});
}

}  // namespace exs
