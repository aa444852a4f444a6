// Calls by stubs of exs-rpcgen, from a client to a server of this process: values of every form come back, of every length.
// SPDX-License-Identifier: BSD-2-Clause
#include <boost/test/unit_test.hpp>
#include <cstring>
#include <memory>
#include <numeric>
#include <string>
#include <vector>

#include "tests/rpc/fast/everything_fixture.h"

namespace exs::test {
namespace stub_values_test {

char* text(const char* of) {
  return const_cast<char*>(of);
}

tree* leaf(std::vector<std::unique_ptr<tree>>& owner, int value, tree* left = nullptr,
           tree* right = nullptr) {
  owner.push_back(std::make_unique<tree>(tree{left, value, right}));
  return owner.back().get();
}

}  // namespace stub_values_test

BOOST_FIXTURE_TEST_SUITE(stub_values_test, EverythingFixture)

BOOST_AUTO_TEST_CASE(a_call_of_nothing) {
  BOOST_TEST(outcome(nothing_1(client.get(), &context)) == "ok");
  BOOST_TEST(context.outcome == EXS_RPC_EXECUTED);
  BOOST_TEST(outcome(nothing_1(client.get(), nullptr)) == "ok");
}

BOOST_AUTO_TEST_CASE(every_form_comes_back) {
  std::vector<std::unique_ptr<tree>> trees;
  int numbers[] = {1, 2, 3};
  char* names[] = {text("one"), text(""), text("sixteen letters.")};
  padded many[] = {{'a', 1.5, 1}, {'b', 2.5, 0}};
  int maybe = 42;
  mixed given{};
  given.first = text("first");
  given.a = -1;
  given.b = 0.25;
  std::memcpy(given.c, "xyz", 3);
  given.d = {'p', 3.5, 1};
  given.numbers = {3, numbers};
  given.names = {3, names};
  given.many = {2, many};
  given.fixed[0] = {1, 2, 3.0, -4, -5, 6};
  given.fixed[1] = {7, 8, 9.0, -10, -11, 12};
  given.pair[0] = text("left");
  given.pair[1] = text("right");
  given.maybe = &maybe;
  given.root = leaf(trees, 1, leaf(trees, 2), leaf(trees, 3, leaf(trees, 4)));
  mixed got{};
  BOOST_REQUIRE_MESSAGE(mix_1(client.get(), &given, &got, nullptr) == 0, exs_rpc_errtext());
  BOOST_TEST(std::string(got.first) == "first");
  BOOST_TEST(got.a == -1);
  BOOST_TEST(got.b == 0.25);
  BOOST_TEST(std::string(got.c, 3) == "xyz");
  BOOST_TEST((got.d.a == 'p' && got.d.b == 3.5 && got.d.is_set == 1));
  BOOST_REQUIRE_EQUAL(got.numbers.numbers_len, 3);
  BOOST_TEST(got.numbers.numbers_val[2] == 3);
  BOOST_REQUIRE_EQUAL(got.names.names_len, 3);
  BOOST_TEST(std::string(got.names.names_val[1]).empty());
  BOOST_TEST(std::string(got.names.names_val[2]) == "sixteen letters.");
  BOOST_REQUIRE_EQUAL(got.many.many_len, 2);
  BOOST_TEST((got.many.many_val[1].a == 'b' && got.many.many_val[1].b == 2.5));
  BOOST_TEST((got.fixed[0].a == 1 && got.fixed[1].d == -10 && got.fixed[1].f == 12));
  BOOST_TEST(std::string(got.pair[1]) == "right");
  BOOST_REQUIRE(got.maybe != nullptr);
  BOOST_TEST(*got.maybe == 42);
  BOOST_TEST(got.root->right->left->value == 4);
  BOOST_TEST((got.root->left->left == nullptr && got.root->right->right == nullptr));
  mixed_free(&got);
  BOOST_TEST((got.root == nullptr && got.first == nullptr));
}

BOOST_AUTO_TEST_CASE(arms_of_a_union) {
  node second{text("second"), 2, nullptr};
  node first{text("first"), 1, &second};
  list entries = &first;
  answer got{};
  BOOST_REQUIRE_MESSAGE(answer_1(client.get(), GREEN, &entries, &got, nullptr) == 0, exs_rpc_errtext());
  BOOST_TEST(got.what == GREEN);
  BOOST_TEST(std::string(got.answer_u.entries->next->title) == "second");
  answer_free(&got);
  BOOST_TEST(outcome(answer_1(client.get(), BLUE, &entries, &got, nullptr)) == "ok");
  BOOST_TEST(got.what == BLUE);
  BOOST_TEST(outcome(answer_1(client.get(), GREY, &entries, &got, nullptr)) == "ok");
  BOOST_TEST(std::string(got.answer_u.rest.rest_val, got.answer_u.rest.rest_len) == "abc");
  answer_free(&got);
}

// As by walking it with a stack that a list of any length would end.
BOOST_AUTO_TEST_CASE(a_list_of_two_hundred_thousand) {
  std::vector<node> nodes(200'000, node{text("n"), 0, nullptr});
  for (std::size_t i = 0; i + 1 < nodes.size(); ++i) {
    nodes[i].size = i;
    nodes[i].next = &nodes[i + 1];
  }
  list entries = nodes.data();
  answer got{};
  BOOST_REQUIRE_MESSAGE(answer_1(client.get(), RED, &entries, &got, nullptr) == 0, exs_rpc_errtext());
  std::size_t count = 0;
  for (const node* one = got.answer_u.entries; one != nullptr; one = one->next) ++count;
  BOOST_TEST(count == nodes.size());
  answer_free(&got);
}

BOOST_AUTO_TEST_CASE(pointers_nest_sixty_four_deep) {
  std::vector<std::unique_ptr<tree>> trees;
  tree* deep = leaf(trees, 0);
  for (int i = 0; i < 60; ++i) deep = leaf(trees, i, deep);
  mixed given{};
  given.first = given.pair[0] = given.pair[1] = text("");
  given.root = deep;
  mixed got{};
  BOOST_TEST(outcome(mix_1(client.get(), &given, &got, nullptr)) == "ok");
  mixed_free(&got);
  for (int i = 0; i < 10; ++i) deep = leaf(trees, i, deep);
  given.root = deep;
  BOOST_TEST(outcome(mix_1(client.get(), &given, &got, &context)) == "EINVAL");
  BOOST_TEST(context.outcome == EXS_RPC_NOT_EXECUTED);
}

BOOST_AUTO_TEST_CASE(results_take_the_place_of_arguments) {
  exact values[] = {{1, 1}, {2, 2}, {3, 3}};
  points inout{3, values};
  BOOST_REQUIRE_MESSAGE(scale_1(client.get(), &inout, nullptr) == 0, exs_rpc_errtext());
  BOOST_TEST(inout.points_val == values);
  BOOST_TEST((values[2].x == 6 && values[2].y == 9));
  exact pair{1, 2};
  BOOST_TEST(outcome(swap_1(client.get(), &pair, nullptr)) == "ok");
  BOOST_TEST((pair.x == 2 && pair.y == 1));
}

BOOST_AUTO_TEST_CASE(results_go_to_memory_of_the_callers) {
  std::vector<char> room(100, 'r');
  blob result{100, room.data()};
  context.flags = EXS_RPC_IN_PLACE;
  BOOST_TEST(outcome(make_1(client.get(), 60, &result, &context)) == "ok");
  BOOST_TEST((result.blob_len == 60 && result.blob_val == room.data()));
  BOOST_TEST((room[59] == '\0' && room[60] == 'r'));
  result.blob_len = 100;
  BOOST_TEST(outcome(make_1(client.get(), 101, &result, &context)) == "EMSGSIZE");
  BOOST_TEST(context.outcome == EXS_RPC_EXECUTED);
  BOOST_TEST(outcome(nothing_1(client.get(), nullptr)) == "ok");
}

BOOST_AUTO_TEST_CASE(flat_ones_strings_and_numbers) {
  const digest given = {'a', 'b', 'c'};
  digest got{};
  BOOST_TEST(outcome(hash_1(client.get(), &given, &got, nullptr)) == "ok");
  BOOST_TEST(std::memcmp(got, given, sizeof given) == 0);
  const flat whole{1, 2, 3.5, -4, -5, 6};
  flat copy{};
  BOOST_TEST(outcome(flat_1(client.get(), &whole, &copy, nullptr)) == "ok");
  BOOST_TEST((copy.a == 1 && copy.b == 2 && copy.c == 3.5 && copy.d == -4 && copy.e == -5 && copy.f == 6));
  name told = nullptr;
  BOOST_TEST(outcome(echo_1(client.get(), "hello", &told, nullptr)) == "ok");
  BOOST_TEST(std::string(told) == "hello");
  name_free(&told);
  int sum = 0;
  BOOST_TEST(outcome(add_1(client.get(), 20, 22, &sum, nullptr)) == "ok");
  BOOST_TEST(sum == 42);
}

BOOST_AUTO_TEST_CASE(messages_of_every_length) {
  for (const std::size_t length : {0, 1, 7, 8, 4064, 4072, 4073, 4080, 4096, 65536, 1 << 20, 20 << 20}) {
    std::vector<char> given(length);
    std::iota(given.begin(), given.end(), char{1});
    const blob argument{static_cast<unsigned>(length), given.data()};
    blob got{};
    BOOST_REQUIRE_MESSAGE(copy_1(client.get(), &argument, &got, nullptr) == 0, exs_rpc_errtext());
    BOOST_REQUIRE_EQUAL(got.blob_len, length);
    BOOST_TEST((length == 0 || std::memcmp(got.blob_val, given.data(), length) == 0));
    blob_free(&got);
  }
}

// Calls under way at the same time run in any order, so who wants to know that all have run waits for all.
BOOST_AUTO_TEST_CASE(one_way_calls_all_arrive) {
  constexpr int kCalls = 1000;
  for (int i = 0; i < kCalls; ++i) BOOST_REQUIRE_EQUAL(note_1(client.get(), 1, nullptr), 0);
  int notes = 0;
  BOOST_TEST(outcome(notes_1(client.get(), &notes, nullptr)) == "ok");
  BOOST_TEST(notes <= kCalls);
  client.reset();  // waits for them
  client = open_client(server);
  BOOST_TEST(outcome(notes_1(client.get(), &notes, nullptr)) == "ok");
  BOOST_TEST(notes == kCalls);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace exs::test
