// exs/handles.h: in C++ the compiler tells a queue from a region from a pool, and none of them from a number by accident.
// SPDX-License-Identifier: BSD-2-Clause
#include <boost/test/unit_test.hpp>
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "exs/exs.h"

namespace exs::test {
namespace handle_kinds_test {

template <typename... Arguments>
constexpr bool kReceives =
    std::is_invocable_v<decltype(&exs_recv), int, void*, std::size_t, int, Arguments...>;
static_assert(kReceives<exs_qhandle_t, exs_ahandle_t, exs_mhandle_t>);
static_assert(!kReceives<exs_mhandle_t, exs_ahandle_t, exs_mhandle_t>);
static_assert(!kReceives<exs_qhandle_t, exs_ahandle_t, exs_qhandle_t>);
static_assert(!kReceives<exs_mhandle_t, exs_ahandle_t, exs_qhandle_t>);
static_assert(!kReceives<int, exs_ahandle_t, exs_mhandle_t>);
static_assert(!kReceives<exs_qhandle_t, exs_ahandle_t, int>);

template <typename... Arguments>
constexpr bool kReceivesPooled = std::is_invocable_v<decltype(&exs_recv_pooled), int, Arguments...>;
static_assert(kReceivesPooled<exs_phandle_t, int, exs_qhandle_t, exs_ahandle_t>);
static_assert(!kReceivesPooled<exs_qhandle_t, int, exs_phandle_t, exs_ahandle_t>);
static_assert(!kReceivesPooled<exs_mhandle_t, int, exs_qhandle_t, exs_ahandle_t>);

static_assert(std::is_invocable_v<decltype(&exs_qdelete), exs_qhandle_t>);
static_assert(!std::is_invocable_v<decltype(&exs_qdelete), exs_phandle_t>);
static_assert(!std::is_invocable_v<decltype(&exs_pool_delete), exs_qhandle_t>);
static_assert(!std::is_invocable_v<decltype(&exs_mderegister), exs_qhandle_t, int>);

template <typename Kind, typename... Others>
constexpr bool kIsOwnKind = sizeof(Kind) == sizeof(int) && std::is_convertible_v<Kind, int> &&
                            !std::is_convertible_v<int, Kind> &&
                            (!std::is_convertible_v<Others, Kind> && ...);
static_assert(kIsOwnKind<exs_mhandle_t, exs_qhandle_t, exs_phandle_t>);
static_assert(kIsOwnKind<exs_qhandle_t, exs_mhandle_t, exs_phandle_t>);
static_assert(kIsOwnKind<exs_phandle_t, exs_mhandle_t, exs_qhandle_t>);

static_assert(std::is_same_v<decltype(EXS_MHANDLE_INVALID), exs_mhandle_t>);
static_assert(std::is_same_v<decltype(EXS_MHANDLE_UNREGISTERED), exs_mhandle_t>);
static_assert(std::is_same_v<decltype(EXS_QHANDLE_INVALID), exs_qhandle_t>);
static_assert(std::is_same_v<decltype(EXS_PHANDLE_INVALID), exs_phandle_t>);

}  // namespace handle_kinds_test

BOOST_AUTO_TEST_SUITE(handle_kinds_test)

// As C has them.
BOOST_AUTO_TEST_CASE(invalid_handles_are_the_numbers_of_c) {
  BOOST_TEST(int{EXS_MHANDLE_INVALID} == -1);
  BOOST_TEST(int{EXS_QHANDLE_INVALID} == -1);
  BOOST_TEST(int{EXS_PHANDLE_INVALID} == -1);
  BOOST_TEST(int{EXS_MHANDLE_UNREGISTERED} == 0);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace exs::test
