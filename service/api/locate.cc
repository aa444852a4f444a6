// exs_svc_locate(): asks the process of this host that holds a service's name.
// SPDX-License-Identifier: BSD-2-Clause
#include <poll.h>
#include <sys/socket.h>

#include <cerrno>
#include <cstring>
#include <string>

#include "exs/service.h"
#include "service/api/calls.h"
#include "service/names/address.h"
#include "service/names/clock.h"
#include "service/names/host_name.h"

namespace exs::svc {
namespace {

static_assert(EXS_SVC_PLACES == kAddressesMax);

// Returns true if the socket is readable or closed, false at the time limit.
bool wait_for_answer(int asked, std::int64_t until_ns) {
  for (;;) {
    const std::int64_t left_ns = std::max<std::int64_t>(until_ns - now_ns(), 0);
    const timespec left{left_ns / 1'000'000'000, left_ns % 1'000'000'000};
    pollfd state{asked, POLLIN, 0};
    const int count = ::ppoll(&state, 1, &left, nullptr);
    if (count >= 0 || errno != EINTR) return count == 1;
  }
}

void fill(const Record& record, const Holder& holder, exs_svc_place_t& place) {
  place.process = holder.process;
  place.user = holder.user;
  place.opened_ms = static_cast<std::int64_t>(record.epoch);
  place.instance = record.instance;
  for (const sockaddr_storage& address : record.addresses) {
    const std::string text = text_of(address);
    std::memcpy(place.addresses[place.addresses_count++], text.c_str(), text.size() + 1);
  }
}

// Returns 0 or an errno value. `holder` describes the process that holds the name, as far as the kernel knows it.
int locate(const IdBytes& id, std::int64_t until_ns, exs_svc_place_t& place, Holder& holder) {
  Descriptor asked;
  if (const int error = ask_host_name(id, asked); error != 0)
    return error == ECONNREFUSED ? ENOENT : error == EAGAIN ? ETIMEDOUT : error;
  const bool has_answered = wait_for_answer(asked.get(), until_ns);
  holder = holder_of(asked.get());
  if (!has_answered) return ETIMEDOUT;
  const std::optional<Record> record = read_host_answer(asked.get(), id);
  if (!record) return EPROTO;
  fill(*record, holder, place);
  return 0;
}

std::string sentence_of(int error, const Holder& holder) {
  if (error == ENOENT) return "no process of this host has the service's name";
  if (error != ETIMEDOUT && error != EPROTO) return std::strerror(error);
  if (holder.process <= 0)
    return error == EPROTO ? "who has the service's name is not the service"
                           : "who has the service's name takes no questions: it may be stopped";
  const std::string number = std::to_string(holder.process);
  const std::string who =
      "process " + number + " of user " + std::to_string(holder.user) + " has the service's name";
  if (error == EPROTO) return who + ", and is not the service";
  if (holder.is_stopped) return who + ", and is stopped: kill -CONT " + number;
  return who + ", and does not answer: it hangs, or gets no processor";
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
    exs::svc::Holder holder;
    const std::int64_t until_ns = exs::svc::after(exs::svc::now_ns(), limit_ns);
    const int error = exs::svc::locate(exs::svc::bytes_of(*id), until_ns, found, holder);
    if (error != 0) return refuse(error, "exs_svc_locate: %s", exs::svc::sentence_of(error, holder).c_str());
    found.struct_bytes = place->struct_bytes;
    std::memcpy(place, &found, std::min(place->struct_bytes, sizeof found));
    return 0;
  });
}
