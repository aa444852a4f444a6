// Values of every form in messages: copied, viewed in the message, in place; and what is decoded is encoded again.
// SPDX-License-Identifier: BSD-2-Clause
#include <cstdlib>
#include <memory>

#include "everything_exs.h"
#include "rpc/fast/arena.h"
#include "rpc/fast/codec.h"
#include "rpc/fast/outgoing.h"
#include "tests/fuzz/fuzz.h"

namespace exs::fuzz::rpc_values {

using namespace exs::rpc;

// Types of arguments and results of all procedures.
std::vector<const exs_rpc_type_t*> all_types() {
  std::vector<const exs_rpc_type_t*> types;
  const exs_rpc_interface_t& interface = everything_one_interface;
  for (std::uint32_t i = 0; i < interface.procedures_count; ++i) {
    for (const exs_rpc_type_t* type : {interface.procedures[i].argument, interface.procedures[i].result})
      if (type != nullptr) types.push_back(type);
  }
  return types;
}

struct Free {
  void operator()(void* memory) const noexcept { std::free(memory); }
};
using Memory = std::unique_ptr<void, Free>;

void copy(const exs_rpc_type_t& type, std::span<const std::byte> body) {
  const Memory value(std::calloc(1, type.memory_bytes));
  if (decode(type, body, value.get(), Placement::kCopy, nullptr).ok()) free_value(type, value.get());
}
void view(const exs_rpc_type_t& type, std::span<const std::byte> body) {
  const Memory value(std::calloc(1, type.memory_bytes));
  RequestArena arena;
  static_cast<void>(decode(type, body, value.get(), Placement::kView, &arena));
}

}  // namespace exs::fuzz::rpc_values

EXS_FUZZ_TARGET(rpc_values) {
  using namespace exs::fuzz::rpc_values;
  static const auto types = all_types();
  const exs_rpc_type_t& type = *types[input.below(types.size())];
  const bool is_copied = input.one_in(2);
  // Bodies begin at a multiple of 8, as all memory of malloc() does, and end where it ends.
  const auto bytes = input.rest();
  const Memory body(bytes.empty() ? nullptr : std::malloc(bytes.size()));
  if (!bytes.empty()) std::memcpy(body.get(), bytes.data(), bytes.size());
  const std::span view_of(static_cast<const std::byte*>(body.get()), bytes.size());
  is_copied ? copy(type, view_of) : view(type, view_of);
}
