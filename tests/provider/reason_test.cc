// Every reason that exs.h names has a name and a cure, and the same number inside the library.
// SPDX-License-Identifier: BSD-2-Clause
#include "src/provider/reason.h"

#include <cctype>
#include <cstring>
#include <fstream>
#include <iterator>
#include <map>
#include <set>
#include <sstream>
#include <string>

#include <exs/exs.h>
#include <boost/test/unit_test.hpp>

#include "src/provider/explanation.h"

using exs::reason_cure;
using exs::reason_name;
using exs::ReasonCode;

namespace reason_test {

std::string file_text(const std::string& name) {
  std::ifstream file(std::string(EXS_SOURCE_FOLDER "/") + name);
  BOOST_REQUIRE(file.good());
  return {std::istreambuf_iterator<char>(file), {}};
}

// "other-host" -> 16, for every word "PREFIXOTHER_HOST" that "= 16" follows.
std::map<std::string, int> numbers_in(const std::string& text, const std::string& prefix,
                                      std::string (*spell)(const std::string&)) {
  std::map<std::string, int> found;
  std::istringstream words(text);
  std::string before;
  std::string word;
  std::string name;
  while (words >> word) {
    if (before == "=" && !name.empty()) found[spell(name)] = std::stoi(word);
    if (word != "=") name = word.starts_with(prefix) ? word.substr(prefix.size()) : "";
    before = word;
  }
  return found;
}

std::string spell_constant(const std::string& name) {  // NO_IO_URING
  std::string spelled;
  for (const char letter : name) {
    spelled += letter == '_' ? '-' : static_cast<char>(std::tolower(static_cast<unsigned char>(letter)));
  }
  return spelled;
}

std::string spell_enumerator(const std::string& name) {  // NoIoUring
  std::string spelled;
  for (const char letter : name) {
    const bool capital = std::isupper(static_cast<unsigned char>(letter)) != 0;
    if (capital && !spelled.empty()) spelled += '-';
    spelled += static_cast<char>(std::tolower(static_cast<unsigned char>(letter)));
  }
  return spelled;
}

std::map<std::string, int> public_codes() {
  return numbers_in(file_text("include/exs/exs.h"), "EXS_REASON_", spell_constant);
}

std::map<std::string, int> inner_codes() {
  const std::string text = file_text("src/provider/reason.h");
  const auto from = text.find("enum class ReasonCode");
  return numbers_in(text.substr(from, text.find("};", from) - from), "k", spell_enumerator);
}

}  // namespace reason_test

BOOST_AUTO_TEST_SUITE(reason_test)

BOOST_AUTO_TEST_CASE(public_and_inner_codes_are_the_same) {
  auto inner = inner_codes();
  BOOST_REQUIRE(inner.erase("none") == 1U);
  const auto known = public_codes();
  BOOST_TEST(known.size() > 15U);
  BOOST_TEST(inner.size() == known.size());
  for (const auto& [name, number] : known) {
    BOOST_TEST_CONTEXT(name) {
      BOOST_REQUIRE(inner.count(name) == 1U);
      BOOST_TEST(inner.at(name) == number);
    }
  }
}

BOOST_AUTO_TEST_CASE(every_code_has_its_name_and_a_cure_that_fit_their_fields) {
  for (const auto& [name, number] : public_codes()) {
    const auto code = static_cast<ReasonCode>(number);
    BOOST_TEST_CONTEXT(name) {
      BOOST_TEST(reason_name(code) == name);
      BOOST_TEST(name.size() < sizeof(exs_reason_t::name));
      BOOST_TEST(std::strlen(reason_cure(code)) > 10U);
      BOOST_TEST(std::strlen(reason_cure(code)) < sizeof(exs_reason_t::cure));
    }
  }
}

BOOST_AUTO_TEST_CASE(code_of_a_newer_peer_is_unknown) {
  BOOST_TEST(reason_name(static_cast<ReasonCode>(255)) == "unknown");
  BOOST_TEST(reason_cure(static_cast<ReasonCode>(255)) == "");
  BOOST_TEST(reason_cure(ReasonCode::kNone) == "");
}

BOOST_AUTO_TEST_CASE(verdicts_are_those_of_the_header) {
  BOOST_TEST(static_cast<int>(exs::Verdict::kUsed) == int{EXS_VERDICT_USED});
  BOOST_TEST(static_cast<int>(exs::Verdict::kLimited) == int{EXS_VERDICT_LIMITED});
  BOOST_TEST(static_cast<int>(exs::Verdict::kRefused) == int{EXS_VERDICT_REFUSED});
}

BOOST_AUTO_TEST_CASE(fact_too_long_is_cut) {
  const std::string much(500, 'x');
  const exs::Reason made = exs::Reason::make(ReasonCode::kFailed, "%s", much.c_str());
  BOOST_TEST(std::strlen(made.fact) == sizeof(made.fact) - 1);
}

BOOST_AUTO_TEST_SUITE_END()
