// Processes that count their job differently: each is told so, with both numbers, in place of a connection. Holds for every provider.
// SPDX-License-Identifier: BSD-2-Clause
#include <exs/msg.h>

#include <boost/test/unit_test.hpp>
#include <cerrno>
#include <cstdint>
#include <mutex>
#include <string>

#include "tests/support/exs_fixture.h"
#include "tests/support/job.h"

namespace exs::test {
namespace tags_sizes_test {

// All lines of the log, while it exists.
class Lines {
 public:
  Lines() { exs_setlog(take, this, EXS_LOG_WARN); }
  ~Lines() { exs_setlog(nullptr, nullptr, EXS_LOG_WARN); }
  Lines(const Lines&) = delete;
  Lines& operator=(const Lines&) = delete;
  [[nodiscard]] bool tell(const std::string& part) {
    const std::lock_guard guard(mutex_);
    return text_.find(part) != std::string::npos;
  }

 private:
  static void take(int /*level*/, const char* line, void* self) {
    auto& lines = *static_cast<Lines*>(self);
    const std::lock_guard guard(lines.mutex_);
    lines.text_ += std::string(line) + "\n";
  }

  std::mutex mutex_;
  std::string text_;
};

}  // namespace tags_sizes_test

BOOST_AUTO_TEST_SUITE(tags_sizes_test)

BOOST_AUTO_TEST_CASE(both_ends_are_told_both_numbers) {
  Lines lines;
  const JobPorts ports(3);
  const exm_ep_t two = ports.join(0, [](exm_config_t& config) { config.size = 2; });
  const exm_ep_t three = ports.join(1);
  const std::uint8_t byte = 1;
  BOOST_TEST(exm_send(two, &byte, 1, 1, 5, 0, EXM_SYNC) == -1);
  BOOST_TEST(errno == ECONNRESET);
  BOOST_TEST(lines.tell("rank 0 counts 2 ranks in the job, and rank 1, which this is, counts 3: give all"));
  BOOST_TEST(lines.tell(
      "it counts 3 ranks in the job, and this process 2: give all processes of the job the same size"));
  BOOST_TEST(!lines.tell("killed, or crashed"));
  exm_finalize(two);
  exm_finalize(three);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace exs::test
