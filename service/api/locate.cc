// exs_svc_locate(): asks the process of this host that holds a service's name.
// SPDX-License-Identifier: BSD-2-Clause
#include <poll.h>
#include <sys/socket.h>

#include <cerrno>
#include <cstring>
#include <string>

#include "base/clock.h"
#include "base/kernel.h"
#include "exs/service.h"
#include "service/api/calls.h"
#include "service/names/address.h"
#include "service/names/host_name.h"

namespace exs::svc {
namespace {

static_assert(EXS_SVC_PLACES == kAddressesMax);

// Returns true if the socket is readable or closed, false at the time limit.
bool wait_for_answer(int asked, std::uint64_t until_ns) {
  for (;;) {
    timespec left = to_timespec(time_left(until_ns, boottime_ns()));
    pollfd state{asked, POLLIN, 0};
    const int count = kernel::ppoll(&state, 1, &left, nullptr);
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

// `holder` describes the process that holds the name, as far as the kernel knows it.
Status locate(const IdBytes& id, std::uint64_t until_ns, exs_svc_place_t& place, Holder& holder) {
  const Result<UniqueFd> asked = ask_host_name(id);
  if (!asked) {
    const int error = asked.error().error();
    return Status(error == ECONNREFUSED ? ENOENT : error == EAGAIN ? ETIMEDOUT : error);
  }
  const bool has_answered = wait_for_answer(asked->get(), until_ns);
  holder = holder_of(asked->get());
  if (!has_answered) return Status(ETIMEDOUT);
  const std::optional<Record> record = read_host_answer(asked->get(), id);
  if (!record) return Status(EPROTO);
  fill(*record, holder, place);
  return {};
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

int exs_svc_locate(const exs_svc_id_t* id, int64_t limit_ns, exs_svc_place_t* place) {
  return exs::c_call([&]() -> exs::Status {
    if (id == nullptr || place == nullptr || place->struct_bytes < sizeof place->struct_bytes || limit_ns < 0)
      return exs::refuse(EINVAL, "no ID, no place of a size, or a negative limit");
    exs_svc_place_t found{};
    exs::svc::Holder holder;
    const std::uint64_t until_ns = exs::limit_after(exs::boottime_ns(), limit_ns);
    const exs::Status located = exs::svc::locate(exs::svc::bytes_of(*id), until_ns, found, holder);
    if (!located.ok())
      return exs::refuse_in_words(located.error(), exs::svc::sentence_of(located.error(), holder));
    found.struct_bytes = place->struct_bytes;
    std::memcpy(place, &found, std::min(place->struct_bytes, sizeof found));
    return {};
  });
}
