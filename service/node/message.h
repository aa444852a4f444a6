// A message that a program has: one block of memory, with what its release gives back. Thread: any.
#pragma once

#include <atomic>
#include <memory>

#include "exs/service.h"
#include "service/wire/frames.h"

namespace exs::svc {

// Messages of a service that are not released.
using Mailbox = std::atomic<std::uint32_t>;

// NULL: there is no memory.
exs_svc_message_t* make_message(const IdBytes& from, const Items& items, std::shared_ptr<Mailbox> mailbox);
void free_message(exs_svc_message_t* message) noexcept;

}  // namespace exs::svc
