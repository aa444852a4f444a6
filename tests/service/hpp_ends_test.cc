// Services in C++: peers, services, nodes and loops that end while coroutines wait for them. Each resumes once.
// SPDX-License-Identifier: BSD-2-Clause
#include "tests/service/hpp_world.h"

using namespace std::chrono_literals;

namespace exs::cpp {
namespace hpp_ends_test {

const std::string kLong(100'000, 'x');

Task<> note_parts(Ends& ends, const ServicePeer& peer) {
  ++ends.begun;
  ServiceParts parts = peer.request_parts("parts");
  ends.names.push_back(name_of(co_await parts.next()));
}

// All that can wait for a peer whose service is not there.
void await_all(Loop& loop, const ServicePeer& peer, Ends& ends) {
  loop.spawn(ends.note(peer.ping()));
  loop.spawn(ends.note(peer.ping()));
  loop.spawn(ends.note(with_timeout(600s, peer.ping())));
  loop.spawn(ends.note(peer.stats()));
  loop.spawn(ends.note(peer.send_long({}, bytes_of(kLong))));
  loop.spawn(ends.note(peer.request("x")));
  loop.spawn(ends.note(peer.request("x", {.limit = 600s})));
  loop.spawn(note_parts(ends, peer));
  for (int i = 4; i < 64; ++i) loop.spawn(ends.note(peer.request("x")));
  loop.spawn(ends.note(peer.send("waits for room")));
  loop.spawn(ends.note(with_timeout(600s, peer.send("waits for room"))));
  loop.spawn(ends.note(with_timeout(600s, peer.request("waits for room"))));
  BOOST_TEST(ends.names.empty());
}
// All that can wait for a service.
void await_all(Loop& loop, const Service& service, Ends& ends) {
  loop.spawn(ends.note(service.next()));
  loop.spawn(ends.note(with_timeout(600s, service.next())));
  loop.spawn(ends.note(service.opened()));
  loop.spawn(ends.note(service.adopted()));
  BOOST_TEST(ends.names.empty());
}

// What is awaited when all has ended.
void check_all_refuse(Loop& loop, const ServicePeer& peer, const Service& service) {
  Ends ends;
  loop.spawn(ends.note(peer.ping()));
  loop.spawn(ends.note(peer.stats()));
  loop.spawn(ends.note(peer.send("x")));
  loop.spawn(ends.note(peer.send_long({}, bytes_of(kLong))));
  loop.spawn(ends.note(peer.request("x")));
  loop.spawn(note_parts(ends, peer));
  loop.spawn(ends.note(service.next()));
  loop.spawn(ends.note(service.opened()));
  loop.spawn(ends.note(service.move()));
  BOOST_TEST(ends.begun == 9U);
  BOOST_TEST(ends.all_are("ECANCELED"));
  BOOST_TEST(peer.handle() == nullptr);
  BOOST_TEST(service.handle() == nullptr);
}

}  // namespace hpp_ends_test

BOOST_FIXTURE_TEST_SUITE(hpp_ends_test, ServiceWorld)

BOOST_AUTO_TEST_CASE(a_peer_ends) {
  Ends ends;
  {
    const ServicePeer peer(left, key.id());
    await_all(loop, peer, ends);
  }
  BOOST_TEST(ends.all_are("ECANCELED"));
  BOOST_TEST(loop.tasks() == 0U);
}

BOOST_AUTO_TEST_CASE(a_service_ends) {
  Ends ends;
  {
    const Service service = Service::adopt(right, key);
    await_all(loop, service, ends);
  }
  BOOST_TEST(ends.begun == 4U);
  BOOST_TEST(ends.all_are("ECANCELED"));
}

BOOST_AUTO_TEST_CASE(a_node_ends_before_its_objects) {
  Ends ends;
  auto node = std::make_unique<ServiceNode>(loop, patient());
  const ServicePeer peer(*node, ServiceKey().id());
  const Service service = Service::adopt(*node, key);
  await_all(loop, peer, ends);
  Ends of_service;
  await_all(loop, service, of_service);
  node.reset();
  BOOST_TEST(ends.all_are("ECANCELED"));
  BOOST_TEST(of_service.all_are("ECANCELED"));
  check_all_refuse(loop, peer, service);
}

BOOST_AUTO_TEST_CASE(a_loop_ends_before_its_nodes) {
  Ends ends;
  Ends of_service;
  auto short_lived = std::make_unique<Loop>();
  const ServiceNode node(*short_lived, patient());
  const ServicePeer peer(node, ServiceKey().id());
  const Service service = Service::adopt(node, key);
  await_all(*short_lived, peer, ends);
  await_all(*short_lived, service, of_service);
  short_lived.reset();
  BOOST_TEST(ends.all_are("ECANCELED"));
  BOOST_TEST(of_service.all_are("ECANCELED"));
  check_all_refuse(loop, peer, service);
  BOOST_CHECK_THROW(Service(node, key), std::system_error);
  BOOST_CHECK_THROW(ServicePeer(node, key.id()), std::system_error);
}

BOOST_AUTO_TEST_CASE(a_loop_ends_with_coroutines_that_own_all) {
  std::vector<std::string> names;
  {
    Loop short_lived;
    const auto serve = [](Loop& on, const ServiceKey& as, std::vector<std::string>& ends) -> Task<> {
      const ServiceNode node(on, patient());
      const Service service(node, as);
      const ServicePeer itself(node, as.id());
      (co_await itself.send("x")).value();
      for (int i = 0; i < 2; ++i) ends.push_back(name_of(co_await service.next()));
      ends.push_back(name_of(co_await itself.ping()));
    };
    short_lived.spawn(serve(short_lived, key, names));
    while (names.empty()) short_lived.step();
  }
  BOOST_TEST((names == std::vector<std::string>{"ok", "ECANCELED", "ECANCELED"}));
}

BOOST_AUTO_TEST_CASE(a_coroutine_that_is_resumed_ends_the_node_of_the_others) {
  auto node = std::make_unique<ServiceNode>(loop, patient());
  auto service = std::make_unique<Service>(*node, key);
  const ServicePeer peer(left, key.id());
  Ends ends;  // all have ended when it goes
  const auto end_all = [](std::unique_ptr<ServiceNode>& its, std::unique_ptr<Service>& at) -> Task<> {
    BOOST_TEST((co_await at->next()).text(0) == "x");
    at.reset();
    its.reset();
  };
  loop.spawn(end_all(node, service));
  for (int i = 0; i < 3; ++i) loop.spawn(ends.note(service->next()));
  const ServicePeer of_node(*node, ServiceKey().id());
  loop.spawn(ends.note(of_node.ping()));
  loop.spawn(ends.note(peer.send("x")));
  loop.spawn(ends.note(peer.send("for nobody")));
  run_until([&] { return loop.tasks() == 0; });
  BOOST_TEST((ends.names ==
              std::vector<std::string>{"ok", "ok", "ECANCELED", "ECANCELED", "ECANCELED", "ECANCELED"}));
}

BOOST_AUTO_TEST_CASE(a_handler_ends_its_peer) {
  const ServiceNode third(loop, impatient());
  auto peer = std::make_unique<ServicePeer>(third, key.id());
  peer->on_notice([&](const ServiceNotice&) { peer.reset(); });
  Ends ends;
  loop.spawn(ends.note(peer->send("x")));
  loop.spawn(ends.note(peer->ping()));
  loop.spawn(ends.note(peer->stats()));
  run_until([&] { return peer == nullptr; });
  loop.run();
  BOOST_TEST((ends.names == std::vector<std::string>{"ok", "ENOENT", "ENOENT"}));
}

BOOST_AUTO_TEST_CASE(a_service_ends_while_the_memory_of_a_reply_is_read) {
  Ends ends;
  std::vector<ServiceMessage> requests;
  auto service = std::make_unique<Service>(right, key);
  const ServicePeer peer(left, key.id());
  loop.spawn(ends.note(peer.request("x")));
  const auto take = [](const Service& at, std::vector<ServiceMessage>& all) -> Task<> {
    all.push_back((co_await at.next()).value());
  };
  loop.spawn(take(*service, requests));
  run_until([&] { return !requests.empty(); });
  Ends of_reply;
  loop.spawn(of_reply.note(requests.front().reply({}, {.longs = bytes_of(kLong)})));
  service.reset();
  BOOST_TEST(of_reply.all_are("ECANCELED"));
  BOOST_TEST(name_of(loop.block_on([](const ServiceMessage& request) -> Task<Outcome> {
               co_return co_await request.reply("late");
             }(requests.front()))) == "ECANCELED");
}

BOOST_AUTO_TEST_CASE(messages_that_nobody_asked_for_go_with_their_service) {
  const ServicePeer peer(left, key.id());
  Ends ends;
  {
    const Service service(right, key);
    loop.spawn(ends.note(peer.send("x")));
    loop.spawn(ends.note(peer.request("x", {.idempotent = true})));
    loop.block_on([](const ServicePeer& to) -> Task<> { (co_await to.ping()).value(); }(peer));
    BOOST_TEST((ends.names == std::vector<std::string>{"ok"}));
  }
  // Expect: the request goes to the next owner, as one that no program has received.
  const Service service(right, key);
  const auto answer = [](const Service& at) -> Task<> {
    const ServiceMessage request = (co_await at.next()).value();
    BOOST_TEST(request.is_request());
    (co_await request.reply({})).value();
  };
  loop.spawn(answer(service));
  loop.run();
  BOOST_TEST(ends.all_are("ok"));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace exs::cpp
