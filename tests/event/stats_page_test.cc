// The statistics page as its owner writes it: records, sums of closed connections, and distinct errors. tests/tools/test_top.py reads it
// as another process does.
// SPDX-License-Identifier: BSD-2-Clause
#include <boost/test/unit_test.hpp>

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include <filesystem>
#include <list>
#include <memory>
#include <string>
#include <vector>

#include "event/stats/stats_page.h"

namespace exs::test {
namespace stats_page_test {

namespace fs = std::filesystem;

// The descriptors of this process that are statistics pages.
std::vector<fs::path> pages() {
  std::vector<fs::path> found;
  for (const auto& entry : fs::directory_iterator("/proc/self/fd")) {
    std::error_code gone;
    if (fs::read_symlink(entry.path(), gone).string().find(stats::kFileName) != std::string::npos)
      found.push_back(entry.path());
  }
  return found;
}

// A page, and what others see of it.
struct Seen {
  explicit Seen(std::shared_ptr<StatsPage> made = StatsPage::create(true, "1.2.3")) : page(std::move(made)) {
    BOOST_REQUIRE(pages().size() == 1U);
    const UniqueFd file(::open(pages().front().c_str(), O_RDONLY | O_CLOEXEC));
    start = ::mmap(nullptr, stats::kPageBytes, PROT_READ, MAP_SHARED, file.get(), 0);
    BOOST_REQUIRE(start != MAP_FAILED);
  }
  ~Seen() { ::munmap(start, stats::kPageBytes); }
  Seen(const Seen&) = delete;
  Seen& operator=(const Seen&) = delete;
  [[nodiscard]] const stats::PageHead& head() const { return *static_cast<const stats::PageHead*>(start); }
  [[nodiscard]] const stats::ConnectionRecord& record(std::size_t place) const {
    return reinterpret_cast<const stats::ConnectionRecord*>(static_cast<const char*>(start) +
                                                            stats::kHeadBytes)[place];
  }

  std::shared_ptr<StatsPage> page;
  void* start = nullptr;
};

}  // namespace stats_page_test

BOOST_AUTO_TEST_SUITE(stats_page_test)

BOOST_AUTO_TEST_CASE(a_connection_has_a_record_and_leaves_its_sums) {
  const Seen seen;
  BOOST_TEST(seen.head().magic == stats::kMagic);
  BOOST_TEST(seen.head().process == ::getpid());
  BOOST_TEST(std::string(seen.head().version) == "1.2.3");
  {
    StatsRecord record(seen.page, stats::ConnectionKind::kStream, 7);
    record.set_state(stats::State::kConnected);
    StatsRecord::ConnectionWay way;
    way.carrier = "iwarp";
    way.refused = "a name that is too long";
    way.reason = 18;
    record.set_way(way);
    record.counters().bytes_sent += 100;
    const stats::ConnectionRecord& shown = seen.record(0);
    BOOST_TEST((shown.kind == stats::ConnectionKind::kStream && shown.state == stats::State::kConnected));
    BOOST_TEST(shown.socket == 7);
    BOOST_TEST(std::string(shown.carrier) == "iwarp");
    BOOST_TEST(std::string(shown.refused) == "a name ");
    BOOST_TEST(shown.counters.bytes_sent == 100U);
    BOOST_TEST(shown.changes % 2 == 0U);
    BOOST_TEST(seen.head().closed.bytes_sent == 0U);
  }
  BOOST_TEST((seen.record(0).kind == stats::ConnectionKind::kNone));
  BOOST_TEST(seen.record(0).counters.bytes_sent == 0U);
  BOOST_TEST(seen.record(0).changes != 0U);
  BOOST_TEST(seen.head().closed.bytes_sent == 100U);
  const StatsRecord next(seen.page, stats::ConnectionKind::kMessages, 8);
  BOOST_TEST(seen.record(0).socket == 8);
  BOOST_TEST(seen.head().records_used == 1U);
  BOOST_TEST(seen.head().opened == 2U);
}

BOOST_AUTO_TEST_CASE(more_connections_than_records_count_for_themselves) {
  const Seen seen;
  std::list<StatsRecord> records;
  for (std::uint32_t i = 0; i < stats::kRecordsMax + 2; ++i)
    records.emplace_back(seen.page, stats::ConnectionKind::kMessages, 3);
  BOOST_TEST(seen.head().records_used == stats::kRecordsMax);
  records.back().counters().bytes_sent = 5;
  records.clear();
  BOOST_TEST(seen.head().closed.bytes_sent == 0U);
}

BOOST_AUTO_TEST_CASE(errors_are_one_if_they_differ_in_numbers_alone) {
  const Seen seen;
  seen.page->note_error(104, "the peer 127.0.0.1:4711 has gone");
  seen.page->note_error(104, "the peer 10.0.17.1:12 has gone");
  seen.page->note_error(104, "the peer has gone");
  seen.page->note_error(110, "the peer 127.0.0.1:4711 has gone");
  BOOST_TEST(seen.head().errors[0].count == 2U);
  BOOST_TEST(std::string(seen.head().errors[0].text) == "the peer 10.0.17.1:12 has gone");
  BOOST_TEST(seen.head().errors[0].first_ns <= seen.head().errors[0].last_ns);
  BOOST_TEST(seen.head().errors[1].count == 1U);
  BOOST_TEST(seen.head().errors[2].error == 110);
  BOOST_TEST(seen.head().error_changes % 2 == 0U);
}

BOOST_AUTO_TEST_CASE(the_oldest_error_makes_room) {
  const Seen seen;
  const auto text = [](std::size_t i) {
    return std::string(i + 1, 'x') + std::string(i == 0 ? 400 : 0, 'y');
  };
  for (std::size_t i = 0; i <= stats::kErrorsMax; ++i) seen.page->note_error(1, text(i));
  BOOST_TEST(std::string(seen.head().errors[0].text) == text(stats::kErrorsMax));
  BOOST_TEST(std::string(seen.head().errors[1].text) == text(1));
  // A text that is cut off is the same each time.
  seen.page->note_error(1, text(0));
  seen.page->note_error(1, text(0));
  BOOST_TEST(seen.head().errors[1].count == 2U);
}

BOOST_AUTO_TEST_CASE(nobody_else_has_it) {
  BOOST_TEST(pages().empty());
  {
    const auto hidden = StatsPage::create(false, "");
    BOOST_REQUIRE(hidden);
    BOOST_TEST(pages().empty());
    StatsRecord record(hidden, stats::ConnectionKind::kMessages, 3);
    ++record.counters().errors;
  }
}

BOOST_AUTO_TEST_CASE(descriptors_are_the_programs_where_they_are_scarce) {
  rlimit before{};
  BOOST_REQUIRE(::getrlimit(RLIMIT_NOFILE, &before) == 0);
  const rlimit few{40, before.rlim_max};
  BOOST_REQUIRE(::setrlimit(RLIMIT_NOFILE, &few) == 0);
  const auto page = StatsPage::create(true, "");
  ::setrlimit(RLIMIT_NOFILE, &before);
  BOOST_REQUIRE(page);
  BOOST_TEST(pages().empty());
}

// What has its number by now is not closed.
BOOST_AUTO_TEST_CASE(a_program_may_close_its_descriptor) {
  auto page = StatsPage::create(true, "");
  const int number = std::stoi(pages().front().filename().string());
  ::close(number);
  BOOST_REQUIRE(::open("/dev/null", O_RDONLY | O_CLOEXEC) == number);
  StatsRecord(page, stats::ConnectionKind::kMessages, 3).counters().errors = 1;
  page.reset();
  BOOST_TEST(::fcntl(number, F_GETFD) >= 0);
  ::close(number);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace exs::test
