// Where a service of this host is: who has its name is asked.
#include <poll.h>
#include <sys/socket.h>

#include <cerrno>
#include <cstring>

#include "exs/service.h"
#include "service/api/calls.h"
#include "service/names/address.h"
#include "service/names/clock.h"
#include "service/names/host_name.h"

namespace exs::svc {
namespace {

static_assert(EXS_SVC_PLACES == kAddressesMax);

// True: it can be read, or has ended.
bool wait_for_answer(int asked, std::int64_t until_ns) {
  for (;;) {
    const std::int64_t left_ns = std::max<std::int64_t>(until_ns - now_ns(), 0);
    const timespec left{left_ns / 1'000'000'000, left_ns % 1'000'000'000};
    pollfd state{asked, POLLIN, 0};
    const int count = ::ppoll(&state, 1, &left, nullptr);
    if (count >= 0 || errno != EINTR) return count == 1;
  }
}

// The kernel's word for who listens.
void fill_process(int asked, exs_svc_place_t& place) {
  ucred owner{};
  socklen_t length = sizeof owner;
  if (::getsockopt(asked, SOL_SOCKET, SO_PEERCRED, &owner, &length) != 0) return;
  place.process = owner.pid;
  place.user = owner.uid;
}

void fill(const Record& record, exs_svc_place_t& place) {
  place.opened_ms = static_cast<std::int64_t>(record.epoch);
  place.instance = record.instance;
  for (const sockaddr_storage& address : record.addresses) {
    const std::string text = text_of(address);
    std::memcpy(place.addresses[place.addresses_count++], text.c_str(), text.size() + 1);
  }
}

// errno, or 0.
int locate(const IdBytes& id, std::int64_t until_ns, exs_svc_place_t& place) {
  Descriptor asked;
  if (const int error = ask_host_name(id, asked); error != 0)
    return error == ECONNREFUSED ? ENOENT : error == EAGAIN ? ETIMEDOUT : error;
  if (!wait_for_answer(asked.get(), until_ns)) return ETIMEDOUT;
  const std::optional<Record> record = read_host_answer(asked.get(), id);
  if (!record) return EPROTO;
  fill_process(asked.get(), place);
  fill(*record, place);
  return 0;
}

}  // namespace
}  // namespace exs::svc

using exs::svc::guarded;
using exs::svc::refuse;

int exs_svc_locate(const exs_svc_id_t* id, int64_t limit_ns, exs_svc_place_t* place) {
  if (id == nullptr || place == nullptr || place->struct_bytes < sizeof place->struct_bytes || limit_ns < 0)
    return refuse(EINVAL, "exs_svc_locate: no ID, no place of a size, or a negative limit");
  return guarded(-1, [&] {
    exs_svc_place_t found{};
    const int error =
        exs::svc::locate(exs::svc::bytes_of(*id), exs::svc::after(exs::svc::now_ns(), limit_ns), found);
    if (error != 0)
      return refuse(error, "exs_svc_locate: %s",
                    error == ENOENT      ? "no process of this host has the service's name"
                    : error == ETIMEDOUT ? "who has the service's name does not answer: it may be stopped"
                    : error == EPROTO    ? "who has the service's name is not the service"
                                         : std::strerror(error));
    found.struct_bytes = place->struct_bytes;
    std::memcpy(place, &found, std::min(place->struct_bytes, sizeof found));
    return 0;
  });
}
