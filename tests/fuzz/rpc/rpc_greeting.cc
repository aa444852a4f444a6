// The first messages of a connection, and the header of each.
// SPDX-License-Identifier: BSD-2-Clause
#include "everything_exs.h"
#include "rpc/fast/greeting.h"
#include "rpc/fast/header.h"
#include "tests/fuzz/fuzz.h"

EXS_FUZZ_TARGET(rpc_greeting) {
  using namespace exs::rpc;
  using exs::fuzz::hold;
  const auto bytes = input.rest();
  CallHeader header;
  if (get_header(bytes, header))
    hold(header.length + kHeaderBytes == bytes.size(), "the length is the message's");
  ProgramHello hello;
  static_cast<void>(is_hello(bytes, hello));
  WindowHello window;
  static_cast<void>(is_window_hello(bytes, window));
  TableMatch matched;
  if (!match(bytes, everything_one_interface, matched)) return;
  hold(matched.verdicts.size() == matched.places.size(), "a verdict for each procedure");
  for (std::size_t i = 0; i < matched.places.size(); ++i) {
    if (matched.verdicts[i] == ProcedureVerdict::kCallable)
      hold(matched.places[i] < everything_one_interface.procedures_count, "a place is one");
  }
}
