// BOOST_TEST in a third of the compile time. Boost's own compiles some ten templates for each pair of
// compared types, this one two. Its failure messages are the same. Test programs with precompiled headers use
// it (cmake/precompiled.cmake). The preset debug and the analysers use Boost's, and so does BOOST_TEST with a
// second argument. light_check.cc has the parts that are no templates.
// SPDX-License-Identifier: BSD-2-Clause
#pragma once
#pragma GCC system_header  // comparisons of unlike integers are the test's own

#include <boost/test/unit_test.hpp>

#include <concepts>
#include <cstddef>
#include <cstring>
#include <ostream>
#include <sstream>
#include <string>
#include <type_traits>

namespace exs::test::light {

template <typename T>
concept Printable = requires(std::ostream& out, const T& value) {
  out << value;
};

template <typename T>
concept CString =
    std::is_convertible_v<const T&, const char*> && !std::is_null_pointer_v<T> && !std::is_class_v<T>;

template <typename T>
std::string text_of(const T& value) {
  if constexpr (std::is_null_pointer_v<T>) {
    return "nullptr";
  } else if constexpr (std::is_same_v<T, bool>) {
    return value ? "true" : "false";
  } else if constexpr (std::is_integral_v<T>) {
    return std::to_string(value);
  } else if constexpr (CString<T>) {
    const char* const words = value;
    return words == nullptr ? "null string" : words;
  } else if constexpr (std::is_enum_v<T> && !Printable<T>) {
    return std::to_string(static_cast<long long>(value));
  } else if constexpr (Printable<T>) {
    std::ostringstream out;
    out << value;
    return std::move(out).str();
  } else {
    return "(not printable)";
  }
}

// Keeps the two values for say_and_count(); always false.
bool note(const char* between, const std::string& left, const std::string& right);
// Counts the assertion and reports a failure.
void say_and_count(bool holds, const char* text, const char* file, std::size_t line);

template <typename L, typename R>
bool differ(const L& left, const char* between, const R& right) {
  return note(between, text_of(left), text_of(right));
}

// Boost compares C strings by content.
template <typename L, typename R>
bool are_same(const L& left, const R& right) {
  if constexpr (CString<L> && CString<R>) {
    const char *const one = left, *const other = right;
    return one == nullptr || other == nullptr ? one == other : std::strcmp(one, other) == 0;
  } else {
    return static_cast<bool>(left == right);
  }
}
template <typename L, typename R>
bool are_different(const L& left, const R& right) {
  if constexpr (CString<L> && CString<R>) {
    return !are_same(left, right);
  } else {
    return static_cast<bool>(left != right);
  }
}

// The left side of a comparison.
template <typename L>
class Left {
 public:
  explicit Left(const L& value) : value_(value) {}
  explicit operator bool() const { return static_cast<bool>(value_); }

  template <typename R>
  friend bool operator==(const Left& left, const R& right) {
    return are_same(left.value_, right) || differ(left.value_, " != ", right);
  }
  template <typename R>
  friend bool operator!=(const Left& left, const R& right) {
    return are_different(left.value_, right) || differ(left.value_, " == ", right);
  }
  template <typename R>
  friend bool operator<(const Left& left, const R& right) {
    return static_cast<bool>(left.value_ < right) || differ(left.value_, " >= ", right);
  }
  template <typename R>
  friend bool operator<=(const Left& left, const R& right) {
    return static_cast<bool>(left.value_ <= right) || differ(left.value_, " > ", right);
  }
  template <typename R>
  friend bool operator>(const Left& left, const R& right) {
    return static_cast<bool>(left.value_ > right) || differ(left.value_, " <= ", right);
  }
  template <typename R>
  friend bool operator>=(const Left& left, const R& right) {
    return static_cast<bool>(left.value_ >= right) || differ(left.value_, " < ", right);
  }
  template <typename R>
  friend bool operator&(const Left& left, const R& right) {
    return static_cast<bool>(left.value_ & right) || differ(left.value_, " & ", right);
  }

 private:
  const L& value_;
};

// Binds weaker than all operators inside a side of a comparison, and takes the left side.
struct Begin {
  template <typename L>
  Left<L> operator<=(const L& value) const {
    return Left<L>(value);
  }
};

}  // namespace exs::test::light

#define EXS_TEST_LIGHTLY(level, P)                                                                       \
  do {                                                                                                   \
    BOOST_TEST_PASSPOINT();                                                                              \
    ::exs::test::light::say_and_count(static_cast<bool>(::exs::test::light::Begin{} <= P), #P, __FILE__, \
                                      __LINE__);                                                         \
  } while (::boost::test_tools::tt_detail::dummy_cond())

#undef BOOST_TEST
#define BOOST_TEST(...) \
  BOOST_TEST_INVOKE_IF_N_ARGS(2, EXS_TEST_LIGHTLY, BOOST_TEST_TOOL_UNIV_EX, CHECK, __VA_ARGS__)
