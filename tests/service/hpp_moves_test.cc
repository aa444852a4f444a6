// Services in C++: services that move, that are overtaken, and that have no lease.
// SPDX-License-Identifier: BSD-2-Clause
#include <cstring>

#include "service/names/directory.h"
#include "tests/service/directory_world.h"
#include "tests/service/hpp_world.h"
#include "tests/service/outcomes.h"
#include "tools/directory/server.h"

using namespace std::chrono_literals;

namespace exs::cpp {
namespace hpp_moves_test {

// Counts requests, and takes the count along when it moves.
Task<> count_requests(const Service& service, std::uint32_t& count, std::vector<std::string>& ends) {
  for (;;) {
    const ServiceMessage request = co_await service.next();
    if (!request) co_return ends.push_back(name_of(request));
    ++count;
    (co_await request.reply(std::to_string(count))).value();
  }
}
Task<> check_counts(const ServicePeer& peer, std::uint32_t from, std::uint32_t to) {
  for (std::uint32_t i = from; i <= to; ++i)
    BOOST_TEST((co_await peer.request("?")).value().text(0) == std::to_string(i));
}

// A newer owner of a service, by a directory.
class Rival final : private svc::ResolverClient {
 public:
  explicit Rival(const sockaddr_storage& address) : directory_(address, *this) {}
  void claim(const svc::Key& key) {
    directory_.claim(key.id(), {key, svc::test::record_of(key.public_key(), UINT64_MAX - 1, 7), true},
                     boottime_ns());
  }
  void step() { directory_.step(boottime_ns()); }

 private:
  void found(const svc::Resolver& /*by*/, const svc::IdBytes& /*id*/,
             const svc::Record& /*record*/) override {}
  void overtaken(const svc::IdBytes& /*id*/, const svc::Record& /*newer*/) override {}
  void outdated(const svc::IdBytes& /*id*/, const svc::Record& /*newer*/) override {}
  svc::Directory directory_;
};

// Two nodes and a directory, which has turns of its own.
struct FencedWorld {
  svc::test::OwnFile file;
  svc::DirectoryServer directory{*exs::parse_address("127.0.0.1:0"), file.path(), false};
  const std::string address = svc::text_of(directory.address());
  Loop loop;
  ServiceKey key;
  ServiceNode node{loop, options()};

  [[nodiscard]] exs_svc_node_options_t options() const {
    exs_svc_node_options_t all = patient();
    all.directory = address.c_str();
    return all;
  }
  void run_until(const std::function<bool()>& is_so, Rival* rival = nullptr) {
    while (!is_so()) {
      directory.turn(0);
      if (rival != nullptr) rival->step();
      loop.step(1ms);
    }
  }
  [[nodiscard]] svc::Key own_key() const {
    const svc::test::OwnFile stored;
    std::optional<svc::Key> loaded;
    key.store(stored.path());
    BOOST_REQUIRE(exs::svc::test::take(svc::KeyFile::load(stored.path().c_str()), loaded) == 0);
    return *loaded;
  }
};
exs_svc_options_t fenced() {
  exs_svc_options_t options{};
  options.flags = EXS_SVC_FENCED;
  return options;
}

}  // namespace hpp_moves_test

BOOST_AUTO_TEST_SUITE(hpp_moves_test)

BOOST_FIXTURE_TEST_CASE(a_service_moves_with_its_state, ServiceWorld) {
  std::uint32_t count = 0;
  std::uint32_t moved_count = 0;
  std::vector<std::string> ends;
  const Service here(left, key);
  const Service there = Service::adopt(right, key);
  const ServiceNode third(loop, patient());
  const ServicePeer peer(third, key.id());
  loop.spawn(count_requests(here, count, ends));
  const auto take_over = [](const Service& adopter, std::uint32_t& its,
                            std::vector<std::string>& all) -> Task<> {
    BOOST_TEST(!adopter.is_open());
    const ServiceMessage state = (co_await adopter.adopted()).value();
    BOOST_TEST(adopter.is_open());
    BOOST_TEST_REQUIRE(state.long_item(0).size() == sizeof its);
    std::memcpy(&its, state.long_item(0).data(), sizeof its);
    BOOST_TEST((co_await adopter.adopted()).longs_count() == 0U);
    co_await count_requests(adopter, its, all);
  };
  loop.spawn(take_over(there, moved_count, ends));
  loop.block_on([](const ServicePeer& to, const Service& from, const std::uint32_t& state) -> Task<> {
    co_await check_counts(to, 1, 5);
    const auto give_away = [](const Service& service, const std::uint32_t& its) -> Task<> {
      BOOST_TEST(name_of(co_await service.move(
                     {.find = 60s, .limit = 60s, .state = std::as_bytes(std::span(&its, 1))})) == "ok");
      BOOST_TEST(name_of(co_await service.move()) == "EALREADY");
    };
    co_await both(check_counts(to, 6, 50), give_away(from, state));
    co_await check_counts(to, 51, 60);
  }(peer, here, count));
  BOOST_TEST(moved_count == 60U);
  BOOST_TEST((ends == std::vector<std::string>{"EADDRINUSE"}));
  BOOST_TEST(!here.is_open());
}

BOOST_FIXTURE_TEST_CASE(a_service_that_nobody_waits_for_stays, ServiceWorld) {
  const Service here(left, key);
  const ServicePeer peer(right, key.id());
  loop.block_on([](const Service& service, const ServicePeer& to) -> Task<> {
    BOOST_TEST(name_of(co_await service.adopted()) == "EINVAL");
    BOOST_TEST(name_of(co_await service.move({.find = 1ms})) == "ENOENT");
    BOOST_TEST(name_of(co_await service.move({.to = "nowhere"})) == "EINVAL");
    (co_await to.send("x")).value();
    BOOST_TEST((co_await service.next()).text(0) == "x");
  }(here, peer));
}

BOOST_FIXTURE_TEST_CASE(a_service_ends_while_it_moves, ServiceWorld) {
  Ends ends;
  {
    const Service here(left, key);
    loop.spawn(ends.note(here.move({.find = 600s})));
  }
  BOOST_TEST(ends.begun == 1U);
  BOOST_TEST(ends.all_are("ECANCELED"));
}

BOOST_FIXTURE_TEST_CASE(a_fenced_service_is_open_while_it_has_a_lease, FencedWorld) {
  const Service service(node, key, fenced());
  std::vector<std::error_code> suspensions;
  service.on_suspended([&](std::error_code why) { suspensions.push_back(why); });
  Ends ends;
  loop.spawn(ends.note(service.opened()));
  run_until([&] { return service.is_open(); });
  BOOST_TEST(ends.names.size() == 1U);
  BOOST_TEST(ends.all_are("ok"));
  suspensions.clear();                    // a busy directory may have been late
  while (service.is_open()) loop.step();  // the directory has no turns
  BOOST_TEST_REQUIRE(suspensions.size() == 1U);
  BOOST_TEST((suspensions[0] == std::errc::timed_out));
  loop.spawn(ends.note(service.opened()));
  BOOST_TEST(ends.names.size() == 1U);
  run_until([&] { return ends.names.size() == 2; });
  BOOST_TEST(ends.all_are("ok"));
}

BOOST_FIXTURE_TEST_CASE(a_service_is_overtaken, FencedWorld) {
  const Service service(node, key, fenced());
  run_until([&] { return service.is_open(); });
  Ends ends;
  loop.spawn(ends.note(service.next()));
  Rival rival(directory.address());
  rival.claim(own_key());
  run_until([&] { return !ends.names.empty(); }, &rival);
  loop.spawn(ends.note(service.next()));
  loop.spawn(ends.note(service.opened()));
  BOOST_TEST(ends.names.size() == 3U);
  BOOST_TEST(ends.all_are("EADDRINUSE"));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace exs::cpp
