// Two links of the provider under test, joined, and the memory that they may use.
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "src/provider/provider.h"
#include "tests/contract/instance.h"
#include "tests/support/pattern.h"
#include "tests/support/registered_memory.h"

namespace exs::contract {

inline constexpr LinkDepths kDepths{64, 64, 16, 16, 16'384};

using test::pattern;

// A link, and the completions that have come for it.
class End {
 public:
  virtual ~End() = default;
  // One round: starts what was posted, looks at the network, takes completions. True: something came.
  virtual bool turn() = 0;
  // Takes the completions that are there already.
  virtual void collect() = 0;
  [[nodiscard]] virtual Link& link() = 0;
  virtual void destroy_link() = 0;

  std::optional<Completion> take(CompletionKind kind);
  std::deque<Completion>& seen;

 protected:
  explicit End(std::deque<Completion>& completions) : seen(completions) {}
};

class Pair {
 public:
  explicit Pair(int variant = 0, const LinkDepths& depths = kDepths);
  ~Pair();
  Pair(const Pair&) = delete;
  Pair& operator=(const Pair&) = delete;

  // Turns both ends until `done()`; sleeps, armed, while there is nothing to do. Throws when nothing happens for long.
  void drive_until(const std::function<bool()>& done);
  Completion await(End& end, CompletionKind kind);
  Completion client_gets(CompletionKind kind) { return await(*client_end, kind); }
  Completion server_gets(CompletionKind kind) { return await(*server_end, kind); }
  [[nodiscard]] Link& client() { return client_end->link(); }
  [[nodiscard]] Link& server() { return server_end->link(); }
  // One message of the initiator: until it has come the responder of some providers may not send.
  void first_message();

  [[nodiscard]] bool is_fake() const { return provider == nullptr; }
  // Longest message, header and all.
  [[nodiscard]] std::size_t message_bytes_max() const;

  const int variant;
  Provider* const provider;  // null: the fake
  std::unique_ptr<End> client_end;
  std::unique_ptr<End> server_end;

 private:
  std::unique_ptr<Meeting> meeting_;  // null: the fake
  std::vector<std::string> violations_;
};

// Memory that the pair's provider knows: where the variant has it so, as exs_alloc makes it.
class Memory : public test::RegisteredMemory {
 public:
  Memory(Pair& pair, std::size_t bytes);
  Memory(Pair& pair, std::span<const std::byte> content);
};

}  // namespace exs::contract
