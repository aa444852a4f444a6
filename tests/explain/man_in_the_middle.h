// Who stands between client and server and changes what the client asks for: an old version, a proxy, a liar.
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "tests/explain/two_ends.h"
#include "tests/support/child_process.h"

namespace exs::test {

// Changes the private data of the client's request, from the hello on; may shorten them.
using Change = std::function<void(std::vector<std::byte>& private_data)>;

// One connection; everything after the request is passed on as it is. Before any thread: it forks.
class ManInTheMiddle {
 public:
  explicit ManInTheMiddle(Change change) : change_(std::move(change)) {}
  [[nodiscard]] Detour detour() {
    return [this](std::uint16_t port_of_server) { return stand_before(port_of_server); };
  }

 private:
  std::uint16_t stand_before(std::uint16_t port_of_server);

  const Change change_;
  std::unique_ptr<Child> child_;
};

}  // namespace exs::test
