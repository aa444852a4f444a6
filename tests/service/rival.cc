// Somebody else who has the key of a service: claims it at a directory by a record that is the newer one, whatever the service says
// there, until it is killed.
//   service-rival KEY-FILE DIRECTORY [fenced]
// SPDX-License-Identifier: BSD-2-Clause
#include <poll.h>

#include <algorithm>
#include <cstdio>
#include <string_view>

#include "service/names/address.h"
#include "service/names/directory.h"
#include "tests/service/outcomes.h"

namespace exs::svc {
namespace {

class Rival final : private ResolverClient {
 public:
  Rival(const Key& key, const sockaddr_storage& directory, bool is_fenced)
      : key_(key), is_fenced_(is_fenced), directory_(directory, *this) {}

  [[noreturn]] void run() {
    claim();
    for (;;) {
      pollfd watched{directory_.descriptor(), POLLIN, 0};
      const std::uint64_t wait_ms = time_left(directory_.next_time(), boottime_ns()) / kNsPerMs + 1;
      ::poll(&watched, 1, static_cast<int>(std::min(wait_ms, kWaitMs)));
      directory_.step(boottime_ns());
    }
  }

 private:
  static constexpr std::uint64_t kWaitMs = 1000;

  void claim() {
    epoch_ += 1000;
    const Record record{key_.public_key(), epoch_, 7, {*exs::parse_address("127.0.0.1:7000")}};
    directory_.claim(key_.id(), {key_, record, is_fenced_}, boottime_ns());
  }
  void found(const Resolver& /*by*/, const IdBytes& /*id*/, const Record& /*record*/) override {}
  void overtaken(const IdBytes& /*id*/, const Record& /*newer*/) override { claim(); }
  void outdated(const IdBytes& /*id*/, const Record& /*newer*/) override { claim(); }

  const Key key_;
  const bool is_fenced_;
  std::uint64_t epoch_ = UINT64_MAX / 2;
  Directory directory_;
};

}  // namespace
}  // namespace exs::svc

int main(int argc, char** argv) {
  using namespace exs::svc;
  std::optional<Key> key;
  const bool is_fenced = argc == 4 && std::string_view(argv[3]) == "fenced";
  if ((argc != 3 && !is_fenced) || exs::svc::test::take(KeyFile::load(argv[1]), key) != 0 ||
      !exs::parse_address(argv[2])) {
    std::fprintf(stderr, "usage: service-rival KEY-FILE DIRECTORY [fenced]\n");
    return 2;
  }
  Rival(*key, *exs::parse_address(argv[2]), is_fenced).run();
}
