// The name of a service on this host: an abstract Unix socket, which the kernel gives to one process and takes back when it ends.
// Whoever connects and shows the ID gets the service's record. Thread: any.
#pragma once

#include <vector>

#include "service/names/descriptor.h"
#include "service/names/record.h"

namespace exs::svc {

// A listening socket that does not block, or errno: EADDRINUSE somebody has the name; EMFILE, ENFILE, ENOMEM.
int claim_host_name(const IdBytes& id, Descriptor& listener);
// One that is connected and has asked, and is readable when the answer is there; or errno: ECONNREFUSED nobody has the name; EAGAIN
// the holder has many questions.
int ask_host_name(const IdBytes& id, Descriptor& asked);

inline constexpr std::size_t kQuestionBytes = 4 + 16;
// Reads a question from a connection and answers it, if it is about this service. False: there is none yet.
bool answer_host_question(int connection, const IdBytes& id, Bytes record);
// The record, if it is one of this service.
std::optional<Record> read_host_answer(int asked, const IdBytes& id);

// The kernel's word for who listens at the other end, and whether he runs.
struct Holder {
  std::int32_t process = 0;  // 0: not known
  std::uint32_t user = 0;
  bool is_stopped = false;
};
Holder holder_of(int asked);
std::string text_of(const Holder& holder);

}  // namespace exs::svc
