// How a process finds what started it.
// SPDX-License-Identifier: BSD-2-Clause
#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <string>
#include <vector>

#include <boost/test/unit_test.hpp>

#include "src/boot/boot.h"
#include "tests/boot/false_launcher.h"

using exs::Status;
using exs::boot::find_boot;
using exs::test::BootEnvironment;
using exs::test::FalseLauncher;
using exs::test::kBootVariables;

namespace find_test {

bool is_open(int descriptor) {
  return ::fcntl(descriptor, F_GETFD) >= 0;
}

int error_of(const exs::Result<std::unique_ptr<exs::boot::Boot>>& found) {
  return found ? 0 : found.error().error();
}

}  // namespace find_test

BOOST_AUTO_TEST_SUITE(find_test)

BOOST_AUTO_TEST_CASE(nothing_in_the_environment_is_no_job) {
  const auto found = find_boot();
  BOOST_REQUIRE(found.has_value());
  BOOST_TEST((*found == nullptr));
}

BOOST_AUTO_TEST_CASE(a_rank_without_a_descriptor_is_somebody_elses) {
  const BootEnvironment environment(nullptr, "7", "8");
  const auto found = find_boot();
  BOOST_REQUIRE(found.has_value());
  BOOST_TEST((*found == nullptr));
  BOOST_TEST(std::string(std::getenv("EXM_RANK")) == "7");
}

BOOST_AUTO_TEST_CASE(rank_size_and_key_are_those_told) {
  FalseLauncher launcher;
  const auto boot = launcher.boot(3, 5);
  BOOST_TEST(boot->rank() == 3);
  BOOST_TEST(boot->size() == 5);
  const exs::boot::JobKey key{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 255};
  BOOST_TEST((boot->key() == key));
  BOOST_TEST(boot->hosts() == 3);
  BOOST_TEST(launcher.heard() == "");
}

BOOST_AUTO_TEST_CASE(a_program_of_this_process_is_in_no_job) {
  FalseLauncher launcher;
  const auto boot = launcher.boot(0, 2);
  for (const char* const name : kBootVariables) BOOST_TEST((std::getenv(name) == nullptr));
  BOOST_TEST(::fcntl(boot->descriptor(), F_GETFD) == FD_CLOEXEC);
  const auto again = find_boot();
  BOOST_REQUIRE(again.has_value());
  BOOST_TEST((*again == nullptr));
}

BOOST_AUTO_TEST_CASE(the_socket_closes_with_the_boot) {
  FalseLauncher launcher;
  { const auto boot = launcher.boot(0, 2); }
  BOOST_TEST(!is_open(launcher.there()));
}

BOOST_AUTO_TEST_CASE(a_damaged_environment_is_refused_and_closes_nothing) {
  const FalseLauncher launcher;
  const std::string good = std::to_string(launcher.there());
  const std::string bad_numbers[] = {"",   " ",  "x",  "-1",  "+0",
                                     "1x", " 1", "1 ", "0x1", "99999999999999999999"};
  std::vector<std::array<const char*, 3>> environments{
      {good.c_str(), nullptr, "2"}, {good.c_str(), "0", nullptr}, {good.c_str(), nullptr, nullptr},
      {good.c_str(), "2", "2"},     {good.c_str(), "0", "0"},     {"1000000", "0", "2"}};
  for (const std::string& bad : bad_numbers) {
    environments.push_back({bad.c_str(), "0", "2"});
    environments.push_back({good.c_str(), bad.c_str(), "2"});
    environments.push_back({good.c_str(), "0", bad.c_str()});
  }
  for (const auto& [descriptor, rank, size] : environments) {
    const BootEnvironment environment(descriptor, rank, size);
    BOOST_TEST(error_of(find_boot()) == EPROTO);
    for (const char* const name : kBootVariables) BOOST_TEST((std::getenv(name) == nullptr));
  }
  BOOST_TEST(is_open(launcher.there()));
  ::close(launcher.there());
}

BOOST_AUTO_TEST_CASE(what_is_not_the_socket_of_exs_run_is_refused_and_left_alone) {
  const FalseLauncher datagrams(SOCK_DGRAM);
  int ends[2];
  BOOST_REQUIRE(::pipe(ends) == 0);
  const int tcp = ::socket(AF_INET, SOCK_STREAM, 0);
  for (const int descriptor : {datagrams.there(), ends[0], tcp}) {
    const BootEnvironment environment(std::to_string(descriptor).c_str(), "0", "2");
    BOOST_TEST(error_of(find_boot()) == EPROTO);
    BOOST_TEST(is_open(descriptor));
    ::close(descriptor);
  }
  ::close(ends[1]);
}

BOOST_AUTO_TEST_CASE(a_first_line_that_means_nothing_is_refused) {
  const std::string key = "000102030405060708090a0b0c0d0eff";
  for (const std::string& line : {std::string(),
                                  std::string("job"),
                                  std::string("job 2"),
                                  std::string("job 2 "),
                                  "job 1 " + key + " 1",
                                  "job " + key + " 1",
                                  "job  2 " + key + " 1",
                                  "job 2 " + key.substr(1) + " 1",
                                  "job 2 " + key + "0 1",
                                  "job 2 " + key,
                                  "job 2 " + key + " ",
                                  "job 2 " + key + " 0",
                                  "job 2 " + key + " -1",
                                  "job 2 " + key + " 1 ",
                                  "job 2 " + key + "  1",
                                  "job 2 x" + key.substr(1) + " 1",
                                  "job 2 " + key.substr(1) + "g 1",
                                  "job 2 -" + key.substr(1) + " 1",
                                  "Job 2 " + key + " 1",
                                  " job 2 " + key + " 1",
                                  std::string("card 0 x"),
                                  std::string(100000, 'j')}) {
    FalseLauncher launcher;
    launcher.say(line + "\n");
    BOOST_TEST(error_of(launcher.start(0, 2)) == EPROTO, line.substr(0, 60));
    BOOST_TEST(!is_open(launcher.there()));
  }
}

BOOST_AUTO_TEST_CASE(a_line_without_an_end_is_read_to_its_limit_alone) {
  FalseLauncher launcher;
  launcher.say("job 2 " + std::string(20000, '0'));
  BOOST_TEST(error_of(launcher.start(0, 2)) == EPROTO);
}

BOOST_AUTO_TEST_CASE(exs_run_that_has_gone_is_told) {
  const std::string line = FalseLauncher::kFirstLine;
  for (std::size_t length = 0; length < line.size(); ++length) {
    FalseLauncher launcher;
    launcher.say(line.substr(0, length));
    launcher.go();
    BOOST_TEST(error_of(launcher.start(0, 2)) == ECONNRESET);
  }
}

BOOST_AUTO_TEST_SUITE_END()
