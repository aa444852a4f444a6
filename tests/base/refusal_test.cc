// Why a call fails, from the refusal to errno and the text.
// SPDX-License-Identifier: BSD-2-Clause
#include "base/refusal.h"

#include <array>
#include <cerrno>
#include <new>
#include <string>
#include <system_error>
#include <thread>

#include <boost/test/unit_test.hpp>

#include "base/c_call.h"

using namespace exs;

namespace refusal_test {

std::string sentence_of(Status refusal) {
  std::array<char, kSentenceBytesMax> room;
  return {room.data(), text_of_refusal(refusal, room)};
}

const char* general(std::string_view function, int error) noexcept {
  return function == "exs_known" && error == EBADF ? "a general cure" : "";
}
std::string last_text() {
  return text_of_failed_call(general);
}

}  // namespace refusal_test

BOOST_AUTO_TEST_SUITE(refusal_test)

BOOST_AUTO_TEST_CASE(values_stand_in_their_places_in_decimal_and_hexadecimal) {
  const Status none = refuse(EINVAL, "no value");
  BOOST_TEST(none.error() == EINVAL);
  BOOST_TEST(sentence_of(none) == "no value");
  BOOST_TEST(sentence_of(refuse(EINVAL, "{} and {:#x}, {}", -7, 255, 0)) == "-7 and 0xff, 0");
  BOOST_TEST(sentence_of(refuse(EINVAL, "{}{}{}{}{}!", 1, 2, 3, 4, 5)) == "12345!");
  BOOST_TEST(sentence_of(refuse(EINVAL, "{:#x}", -1)) == "0xffffffffffffffff");
  BOOST_TEST(sentence_of(refuse(EINVAL, "{}", INT64_MIN)) == "-9223372036854775808");
}

BOOST_AUTO_TEST_CASE(words_are_joined_and_cut_where_there_is_no_room) {
  BOOST_TEST(sentence_of(refuse_in_words(ENOENT, {"there is no ", "x", " {}"})) == "there is no x {}");
  const std::string much(kSentenceBytesMax, 'a');
  const std::string cut = sentence_of(refuse_in_words(ENOENT, {"b", much, "c"}));
  BOOST_TEST(cut == "b" + much.substr(1));
  std::array<char, 4> little;
  const Status refusal = refuse(EINVAL, "value {} is wrong", 7);
  BOOST_TEST(text_of_refusal(refusal, little) == 4U);
  BOOST_TEST(std::string_view(little.data(), 4) == "valu");
  BOOST_TEST(text_of_refusal(refusal, {}) == 0U);
}

BOOST_AUTO_TEST_CASE(the_next_refusal_takes_the_place_of_the_last_one) {
  const Status first = refuse(EINVAL, "first");
  const Status second = refuse_in_words(EINVAL, "second");
  BOOST_TEST(sentence_of(first).empty());
  BOOST_TEST(sentence_of(second) == "second");
  BOOST_TEST(sentence_of(Status(EINVAL)).empty());
}

BOOST_AUTO_TEST_CASE(a_refusal_belongs_to_its_thread) {
  const Status mine = refuse(EINVAL, "mine");
  std::thread([] {
    BOOST_TEST(sentence_of(refuse(EINVAL, "another")) == "another");
    BOOST_TEST(last_text().empty());
  }).join();
  BOOST_TEST(sentence_of(mine) == "mine");
}

BOOST_AUTO_TEST_CASE(a_call_that_succeeds_returns_its_value_and_leaves_errno) {
  errno = EDOM;
  BOOST_TEST(c_call([]() -> Result<int> { return 5; }, "exs_f") == 5);
  BOOST_TEST(c_call([] { return Status(); }, "exs_f") == 0);
  BOOST_TEST(errno == EDOM);
}

BOOST_AUTO_TEST_CASE(a_call_that_fails_sets_errno_and_has_a_text_until_the_next_one) {
  BOOST_TEST(c_call([] { return refuse(EINVAL, "the depth is {}", 3); }, "exs_f") == -1);
  BOOST_TEST(errno == EINVAL);
  errno = EDOM;
  BOOST_TEST(last_text() == "exs_f: the depth is 3");
  BOOST_TEST(errno == EDOM);
  BOOST_TEST(c_call<long>(
                 -9L, []() -> Result<long> { return failure(EBADF); }, "exs_known") == -9L);
  BOOST_TEST(errno == EBADF);
  BOOST_TEST(last_text() == "exs_known: Bad file descriptor: a general cure");
  call_failed("exs_other", Status(EBADF));
  BOOST_TEST(last_text() == "exs_other: Bad file descriptor");
}

BOOST_AUTO_TEST_CASE(a_lack_of_memory_threads_or_of_the_programs_memory_is_an_error) {
  BOOST_TEST(c_call([]() -> Status { throw std::bad_alloc(); }, "exs_f") == -1);
  BOOST_TEST(errno == ENOMEM);
  BOOST_TEST(c_call([]() -> Status { throw std::system_error(EAGAIN, std::generic_category()); }, "exs_f") ==
             -1);
  BOOST_TEST(errno == EAGAIN);
  BOOST_TEST(c_call([]() -> Status { throw MemoryGone(); }, "exs_f") == -1);
  BOOST_TEST(errno == EFAULT);
  BOOST_TEST(last_text() ==
             "exs_f: the memory is not all there, or may not be used so: see address and length");
}

BOOST_AUTO_TEST_SUITE_END()
