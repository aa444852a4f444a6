// Services in C++: IDs, keys and places, and objects as values.
// SPDX-License-Identifier: BSD-2-Clause
#include <unistd.h>

#include <cstdlib>
#include <set>

#include "tests/service/hpp_world.h"

using namespace std::chrono_literals;

namespace exs::cpp {

BOOST_FIXTURE_TEST_SUITE(hpp_names_test, ServiceWorld)

BOOST_AUTO_TEST_CASE(an_id_is_text_and_back) {
  const ServiceId id = key.id();
  BOOST_TEST((ServiceId(id.text()) == id));
  BOOST_TEST((ServiceId::find(id.text()) == id));
  BOOST_TEST((std::set<ServiceId>{id, ServiceId(id.get())}.size() == 1));
  BOOST_TEST((ServiceKey().id() != id));
  BOOST_CHECK_EXCEPTION(ServiceId("exs:none"), std::system_error,
                        [](const auto& error) { return error.code() == std::errc::invalid_argument; });
  BOOST_CHECK_EXCEPTION(
      static_cast<void>(ServiceId::find("nobody", "/dev/null")), std::system_error,
      [](const auto& error) { return error.code() == std::errc::no_such_file_or_directory; });
}

BOOST_AUTO_TEST_CASE(a_key_is_kept_in_a_file) {
  std::string folder = "/tmp/exs-hpp-XXXXXX";
  BOOST_REQUIRE(::mkdtemp(folder.data()) != nullptr);
  const std::string path = folder + "/key";
  BOOST_CHECK_THROW(static_cast<void>(ServiceKey::load(path)), std::system_error);
  const ServiceId id = ServiceKey::load_or_create(path).id();
  BOOST_TEST((ServiceKey::load_or_create(path).id() == id));
  BOOST_TEST((ServiceKey::load(path).id() == id));
  BOOST_CHECK_THROW(key.store(path), std::system_error);
  ::unlink(path.c_str());
  ::rmdir(folder.c_str());
}

BOOST_AUTO_TEST_CASE(a_service_of_this_host_has_a_place) {
  BOOST_CHECK_THROW(static_cast<void>(key.id().locate(0ns)), std::system_error);
  const Service service(right, key);
  BOOST_TEST(key.id().locate(60s).process == ::getpid());
  BOOST_CHECK_THROW(Service(right, key), std::system_error);  // it has the name
}

BOOST_AUTO_TEST_CASE(a_node_that_cannot_be_opened_throws) {
  exs_svc_node_options_t options{};
  options.listen = "nowhere";
  BOOST_CHECK_EXCEPTION(ServiceNode(loop, options), std::system_error,
                        [](const auto& error) { return error.code() == std::errc::invalid_argument; });
}

BOOST_AUTO_TEST_CASE(objects_can_be_moved) {
  std::vector<ServiceNode> nodes;
  nodes.emplace_back(loop, patient());
  std::vector<Service> services;
  services.emplace_back(nodes[0], key);
  std::vector<ServicePeer> peers;
  for (int i = 0; i < 5; ++i) peers.emplace_back(left, key.id());
  peers.front() = std::move(peers.back());
  peers.pop_back();
  loop.block_on([](const ServicePeer& from, const Service& to) -> Task<> {
    (co_await from.send("x")).value();
    BOOST_TEST((co_await to.next()).text(0) == "x");
  }(peers.front(), services.front()));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace exs::cpp
