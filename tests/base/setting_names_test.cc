// Names of settings that nobody reads are found, and what was meant is named.
// SPDX-License-Identifier: BSD-2-Clause
#include "base/setting_names.h"

#include <boost/test/unit_test.hpp>

#include <string>
#include <vector>

namespace exs::test {
namespace setting_names_test {

std::string words_about(std::vector<const char*> environment) {
  environment.push_back(nullptr);
  return words_about_unknown_settings(environment.data());
}

}  // namespace setting_names_test

BOOST_AUTO_TEST_SUITE(setting_names_test)

BOOST_AUTO_TEST_CASE(settings_and_names_of_others_are_no_news) {
  BOOST_TEST(words_about({}).empty());
  BOOST_TEST(words_about_unknown_settings(nullptr).empty());
  BOOST_TEST(words_about({"EXS_PROVIDER=shm", "EXS_LOG=", "EXS_SVC_LISTEN=x", "EXS_RUN_RSH=ssh"}).empty());
  BOOST_TEST(
      words_about({"PATH=/bin", "EXSTRA=1", "exs_log=debug", "EXM_ADDRESS=::1", "MY_EXS_LOG=1"}).empty());
  BOOST_TEST(
      words_about({"EXS_TOOLS=/bin", "EXS_TEST_SEED=7", "EXS_RIG_OUT=x"}).empty());  // of tests of ours
}

BOOST_AUTO_TEST_CASE(the_nearest_setting_is_named) {
  const struct {
    const char* name;
    const char* meant;
  } slips[] = {{"EXS_PROVIDR", "EXS_PROVIDER"},
               {"EXS_PROVIDERS", "EXS_PROVIDER"},
               {"EXS_SHARD", "EXS_SHARDS"},
               {"EXS_LOGLEVEL", "EXS_LOG"},
               {"EXS_SHM_USER", "EXS_SHM_USERS"},
               {"EXS_EXPLIAN", "EXS_EXPLAIN"},
               {"EXS_SVC_DIR", "EXS_SVC_DIRECTORY"},
               {"EXS_SERVICE_DIRECTORY", "EXS_SVC_DIRECTORY"},
               {"EXS_IWARP_BACK_END", "EXS_IWARP_BACKEND"}};
  for (const auto& slip : slips) BOOST_TEST(nearest_setting(slip.name) == slip.meant);
  BOOST_TEST(words_about({"HOME=/", "EXS_PROVIDR=shm", "EXS_LOG=warn"}) ==
             "EXS_PROVIDR is no setting of exs, and nothing reads it (the nearest is EXS_PROVIDER)");
  BOOST_TEST(words_about({"EXS_LOGS"}).find("EXS_LOGS is no setting") == 0);  // not even a value
}

BOOST_AUTO_TEST_CASE(many_and_odd_ones_stay_one_short_line) {
  const std::string large = "EXS_" + std::string(100'000, 'A') + "=1";
  const std::string many =
      words_about({large.c_str(), "EXS_B\n\033[1m=1", "EXS_C", "EXS_D", "EXS_E", "EXS_F"});
  BOOST_TEST(many.size() < 600);
  BOOST_TEST(many.ends_with("; and 2 more"));
  BOOST_TEST(many.find("EXS_B??[1m is no setting") != many.npos);
  BOOST_TEST(many.find('\n') == many.npos);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace exs::test
