// The name of a service on this host: an abstract Unix socket. The kernel gives it to one process and takes it back when that ends. A
// process that connects and shows the ID gets the service's record. Thread: any.
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <vector>

#include "base/status.h"
#include "base/unique_fd.h"
#include "service/names/record.h"

namespace exs::svc {

// Makes a nonblocking listening socket. EADDRINUSE the name is taken; EMFILE, ENFILE, ENOMEM.
Result<UniqueFd> claim_host_name(const IdBytes& id);
// Connects and asks; the socket is readable when the answer is there. ECONNREFUSED nobody has the name; EAGAIN the holder's queue of
// questions is full.
Result<UniqueFd> ask_host_name(const IdBytes& id);

inline constexpr std::size_t kQuestionBytes = 4 + 16;
// Reads a question and answers it if it names this service. Returns false if no question has arrived yet.
bool answer_host_question(int connection, const IdBytes& id, Bytes record);
// Returns the record if it belongs to this service.
std::optional<Record> read_host_answer(int asked, const IdBytes& id);

// The process at the other end, as the kernel knows it, and whether it is stopped.
struct Holder {
  std::int32_t process = 0;  // 0: unknown
  std::uint32_t user = 0;
  bool is_stopped = false;
};
Holder holder_of(int asked);
std::string text_of(const Holder& holder);

}  // namespace exs::svc
