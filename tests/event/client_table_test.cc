// SPDX-License-Identifier: BSD-2-Clause
#include <boost/test/unit_test.hpp>

#include <memory>

#include "event/engine/client_table.h"

namespace exs::test {
namespace client_table_test {

struct Client final : CompletionClient {
  void complete(const Completion&) override {}
};

}  // namespace client_table_test

BOOST_AUTO_TEST_SUITE(client_table_test)

BOOST_AUTO_TEST_CASE(a_token_finds_its_client_until_it_is_removed) {
  ClientTable table;
  const auto client = std::make_shared<Client>();
  const std::uint64_t token = table.add(client);
  BOOST_TEST(table.find(token) == client.get());
  table.remove(token);
  BOOST_TEST(table.find(token) == nullptr);
  BOOST_TEST(client.use_count() == 2);
  table.destroy_removed();
  BOOST_TEST(client.use_count() == 1);
}

BOOST_AUTO_TEST_CASE(a_used_slot_gets_another_token) {
  ClientTable table;
  const std::uint64_t first = table.add(std::make_shared<Client>());
  table.remove(first);
  BOOST_TEST(table.add(std::make_shared<Client>()) != first);
  BOOST_TEST(table.find(first) == nullptr);
}

// What never got a token ends too. The first slot is free, and its token is 0.
BOOST_AUTO_TEST_CASE(no_token_is_no_client) {
  ClientTable table;
  table.remove(table.add(std::make_shared<Client>()));
  BOOST_TEST(table.find(0) == nullptr);
  table.remove(0);
  const auto one = std::make_shared<Client>();
  const auto other = std::make_shared<Client>();
  const std::uint64_t token_of_one = table.add(one);
  const std::uint64_t token_of_other = table.add(other);
  BOOST_TEST(table.find(token_of_one) == one.get());
  BOOST_TEST(table.find(token_of_other) == other.get());
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace exs::test
