// Services in C++: requests, their replies, and how they end.
// SPDX-License-Identifier: BSD-2-Clause
#include "tests/service/hpp_world.h"

using namespace std::chrono_literals;

namespace exs::cpp {
namespace hpp_requests_test {

// g++ 12 would destroy them twice.
static_assert(std::is_trivially_destructible_v<ServiceRequestOptions>);
static_assert(std::is_trivially_destructible_v<ServiceReplyOptions>);
static_assert(std::is_trivially_destructible_v<ServiceMoveOptions>);
static_assert(std::is_trivially_destructible_v<ServiceItems>);

struct Fixture : ServiceWorld {
  Service service{right, key};
  ServicePeer peer{left, key.id()};
};

// Answers each request by its own items, until the service is closed.
Task<> echo(const Service& service) {
  for (std::int32_t count = 1;; ++count) {
    const ServiceMessage request = co_await service.next();
    if (!request) break;
    BOOST_TEST(request.is_request());
    (co_await request.reply(request.text(0), {.status = count})).value();
  }
}
// Answers so many parts, and a last one.
Task<> answer_in_parts(const Service& service, int parts) {
  const ServiceMessage request = (co_await service.next()).value();
  for (int i = 0; i < parts; ++i) (co_await request.reply(std::to_string(i), {.more = true})).value();
  (co_await request.reply("last", {.status = 7})).value();
}
Task<> ask_and_check(const ServicePeer& peer, int number) {
  const ServiceReply reply = co_await peer.request(std::to_string(number));
  BOOST_TEST(reply.text(0) == std::to_string(number));
}
// Until the request has ended there.
Task<> reply_in_parts(const ServiceMessage& request, Loop& loop) {
  for (;;) {
    const Outcome part = co_await request.reply("part", {.more = true});
    if (!part) break;
    co_await pause(loop);
  }
}
// Until the request has ended here.
Task<std::string> take_parts(ServiceParts& parts) {
  for (;;) {
    const ServiceReply part = co_await parts.next();
    if (!part) co_return name_of(part);
  }
}
Task<ServiceMessage> next_request(const Service& service) {
  ServiceMessage request = (co_await service.next()).value();
  BOOST_TEST(request.is_request());
  co_return request;
}

}  // namespace hpp_requests_test

BOOST_FIXTURE_TEST_SUITE(hpp_requests_test, Fixture)

BOOST_AUTO_TEST_CASE(a_request_is_answered) {
  loop.spawn(echo(service));
  loop.block_on([](Fixture& world) -> Task<> {
    const ServiceReply reply = co_await world.peer.request("hello", {.limit = 60s});
    BOOST_TEST(reply.value().text(0) == "hello");
    BOOST_TEST(reply.status() == 1);
    BOOST_TEST(!reply.has_more());
    BOOST_TEST(reply.parts.empty());
    BOOST_TEST(!reply.is_request());
    const ServiceReply second = co_await world.peer.request({"again", "more"});
    BOOST_TEST(second.text(0) == "again");
    BOOST_TEST(second.status() == 2);
  }(*this));
}

BOOST_AUTO_TEST_CASE(many_requests_are_under_way) {
  loop.spawn(echo(service));
  for (int i = 0; i < 200; ++i) loop.spawn(ask_and_check(peer, i));
  while (loop.tasks() > 1) loop.step();
}

BOOST_AUTO_TEST_CASE(two_requests_of_one_coroutine_are_under_way) {
  loop.block_on([](Fixture& world) -> Task<> {
    auto replies = both(world.peer.request("one"), world.peer.request("two"));
    auto requests = both(next_request(world.service), next_request(world.service));
    const auto serve = [](Task<std::pair<ServiceMessage, ServiceMessage>> two) -> Task<> {
      const auto [first, second] = co_await std::move(two);
      (co_await second.reply(second.text(0))).value();
      (co_await first.reply(first.text(0))).value();
    };
    const auto [asked, served] = co_await both(std::move(replies), serve(std::move(requests)));
    BOOST_TEST(asked.first.text(0) == "one");
    BOOST_TEST(asked.second.text(0) == "two");
  }(*this));
}

BOOST_AUTO_TEST_CASE(a_request_has_a_limit) {
  loop.block_on([](Fixture& world) -> Task<> {
    int served = 0;
    // On a busy machine it may end before the service has it.
    const auto ask = [](const ServicePeer& to, const int& count) -> Task<> {
      for (auto limit = 20ms; count == 0; limit *= 2)
        BOOST_TEST(name_of(co_await to.request("late", {.limit = limit})) == "ETIMEDOUT");
      for (auto limit = 20ms; count == 1; limit *= 2)
        BOOST_TEST(name_of(co_await with_timeout(limit, to.request("late"))) == "ETIMEDOUT");
    };
    const auto serve = [](Fixture& at, int& count) -> Task<> {
      for (int i = 0; i < 2; ++i) {
        const ServiceMessage request = co_await next_request(at.service);
        ++count;
        BOOST_TEST(request.limit().count() > 0);
        co_await reply_in_parts(request, at.loop);
        BOOST_TEST(name_of(co_await request.reply("too late")) == "ECANCELED");
      }
    };
    co_await both(ask(world.peer, served), serve(world, served));
  }(*this));
}

BOOST_AUTO_TEST_CASE(a_request_that_is_released_without_an_answer_ends) {
  loop.block_on([](Fixture& world) -> Task<> {
    const auto drop = [](const Service& at) -> Task<> { static_cast<void>(co_await next_request(at)); };
    const auto [reply, dropped] = co_await both(world.peer.request("x"), drop(world.service));
    BOOST_TEST(name_of(reply) == "ECANCELED");
    BOOST_CHECK_THROW(reply.value(), std::system_error);
    BOOST_TEST(reply.items_count() == 0U);
    BOOST_TEST(reply.item(0).empty());
    BOOST_TEST(!reply.from().has_value());
  }(*this));
}

BOOST_AUTO_TEST_CASE(a_second_reply_is_refused) {
  loop.block_on([](Fixture& world) -> Task<> {
    const auto serve = [](const Service& at) -> Task<> {
      const ServiceMessage request = co_await next_request(at);
      (co_await request.reply({})).value();
      BOOST_TEST(name_of(co_await request.reply({})) == "ECANCELED");
      BOOST_TEST(name_of(co_await request.reply(std::string(EXS_SVC_SHORT_MAX + 1, 'x'))) == "EMSGSIZE");
    };
    const auto [reply, served] = co_await both(world.peer.request("x"), serve(world.service));
    BOOST_TEST(static_cast<bool>(reply));
  }(*this));
}

BOOST_AUTO_TEST_CASE(requests_wait_for_room_and_messages_do_not_wait_for_them) {
  Ends ends;
  for (int i = 0; i < 65; ++i) loop.spawn(ends.note(peer.request("held")));
  loop.block_on([](Fixture& world, const Ends& all) -> Task<> {
    std::vector<ServiceMessage> held;
    for (int i = 0; i < 64; ++i) held.push_back(co_await next_request(world.service));
    (co_await world.peer.send("past them")).value();
    const ServiceMessage message = (co_await world.service.next()).value();
    BOOST_TEST(message.text(0) == "past them");
    BOOST_TEST(name_of(co_await with_timeout(1ms, world.peer.request("the last"))) == "ETIMEDOUT");
    BOOST_TEST(all.names.empty());
    (co_await held.front().reply({})).value();
    held.push_back(co_await next_request(world.service));  // the one that waited
    for (std::size_t i = 1; i < held.size(); ++i) (co_await held[i].reply({})).value();
  }(*this, ends));
  run_until([&] { return loop.tasks() == 0; });
  BOOST_TEST(ends.all_are("ok"));
}

// ---------------------------------------------------------------- parts

BOOST_AUTO_TEST_CASE(a_reply_comes_in_parts) {
  loop.spawn(answer_in_parts(service, 200));  // more than may be pending
  loop.block_on([](Fixture& world) -> Task<> {
    ServiceParts parts = world.peer.request_parts("x");
    for (int i = 0; i < 200; ++i) {
      const ServiceReply part = (co_await parts.next()).value();
      BOOST_TEST(part.text(0) == std::to_string(i));
      BOOST_TEST(part.has_more());
    }
    const ServiceReply last = (co_await parts.next()).value();
    BOOST_TEST(last.text(0) == "last");
    BOOST_TEST(last.status() == 7);
    BOOST_TEST(!last.has_more());
    BOOST_TEST(name_of(co_await parts.next()) == "ENODATA");
    parts.cancel();  // to no effect
    BOOST_TEST(name_of(co_await parts.next()) == "ENODATA");
  }(*this));
}

BOOST_AUTO_TEST_CASE(parts_that_nobody_streams_are_in_the_reply) {
  loop.spawn(answer_in_parts(service, 3));
  const ServiceReply reply = loop.block_on(
      [](Fixture& world) -> Task<ServiceReply> { co_return co_await world.peer.request("x"); }(*this));
  BOOST_TEST(reply.text(0) == "last");
  BOOST_TEST_REQUIRE(reply.parts.size() == 3U);
  BOOST_TEST(reply.parts[2].text(0) == "2");
}

BOOST_AUTO_TEST_CASE(parts_are_cancelled) {
  loop.block_on([](Fixture& world) -> Task<> {
    int served = 0;
    const auto serve = [](Fixture& at, int& count) -> Task<> {
      for (int i = 0; i < 3; ++i) {
        const ServiceMessage request = co_await next_request(at.service);
        ++count;
        co_await reply_in_parts(request, at.loop);
      }
    };
    const auto ask = [](const ServicePeer& to, const int& count) -> Task<> {
      {
        ServiceParts parts = to.request_parts("cancelled");
        BOOST_TEST((co_await parts.next()).text(0) == "part");
        parts.cancel();
        BOOST_TEST(co_await take_parts(parts) == "ECANCELED");
        BOOST_TEST(name_of(co_await parts.next()) == "ECANCELED");
      }
      {
        ServiceParts parts = to.request_parts("destroyed");
        BOOST_TEST((co_await parts.next()).text(0) == "part");
      }
      for (auto limit = 20ms; count < 3; limit *= 2) {
        ServiceParts parts = to.request_parts("limited", {.limit = limit});
        BOOST_TEST(co_await take_parts(parts) == "ETIMEDOUT");
      }
    };
    co_await both(ask(world.peer, served), serve(world, served));
  }(*this));
}

BOOST_AUTO_TEST_CASE(who_waits_for_a_part_has_a_limit) {
  loop.block_on([](Fixture& world) -> Task<> {
    ServiceParts parts = world.peer.request_parts("x");
    BOOST_TEST(name_of(co_await with_timeout(1ms, parts.next())) == "ETIMEDOUT");
    const ServiceMessage request = co_await next_request(world.service);
    (co_await request.reply("part", {.more = true})).value();
    BOOST_TEST((co_await parts.next()).text(0) == "part");
    (co_await request.reply("last")).value();
    BOOST_TEST((co_await parts.next()).text(0) == "last");
  }(*this));
}

BOOST_AUTO_TEST_CASE(parts_that_were_never_asked_for_are_no_request) {
  { const ServiceParts parts = peer.request_parts("never"); }
  loop.spawn(echo(service));
  loop.block_on(ask_and_check(peer, 1));
}

// ---------------------------------------------------------------- cancelled

BOOST_AUTO_TEST_CASE(a_request_whose_coroutine_has_gone_is_cancelled) {
  await_and_destroy(peer.request("gone"));
  loop.block_on([](Fixture& world) -> Task<> {
    // It has not left, so the service never gets it.
    const auto ask = [](const ServicePeer& to) -> Task<> { co_await ask_and_check(to, 1); };
    const auto serve = [](const Service& at) -> Task<> {
      const ServiceMessage request = co_await next_request(at);
      BOOST_TEST(request.text(0) == "1");
      (co_await request.reply(request.text(0))).value();
    };
    co_await both(ask(world.peer), serve(world.service));
  }(*this));
}

BOOST_AUTO_TEST_CASE(a_request_that_the_service_has_is_cancelled) {
  loop.block_on([](Fixture& world) -> Task<> {
    auto asking = std::make_unique<ServiceRequesting>(world.peer.request("gone"));
    BOOST_TEST(asking->await_suspend(std::noop_coroutine()));
    const ServiceMessage request = co_await next_request(world.service);
    asking.reset();
    co_await reply_in_parts(request, world.loop);
    BOOST_TEST(name_of(co_await request.reply("late")) == "ECANCELED");
    BOOST_TEST(static_cast<bool>(co_await world.peer.ping()));
  }(*this));
}

// ---------------------------------------------------------------- long items

BOOST_AUTO_TEST_CASE(long_items_go_there_and_back) {
  loop.block_on([](Fixture& world) -> Task<> {
    const std::string there = pattern_of(300'000, 1);
    const auto serve = [](const Service& at) -> Task<> {
      const ServiceMessage request = co_await next_request(at);
      const std::string back(text_of(request.long_item(0)));
      (co_await request.reply("x", {.longs = bytes_of(back)})).value();
    };
    const auto [reply, served] =
        co_await both(world.peer.request("x", {.longs = bytes_of(there)}), serve(world.service));
    BOOST_TEST_REQUIRE(reply.longs_count() == 1U);
    BOOST_TEST((text_of(reply.long_item(0)) == there));
  }(*this));
}

BOOST_AUTO_TEST_CASE(long_items_of_replies_arrive_where_the_program_wants_them) {
  loop.block_on([](Fixture& world) -> Task<> {
    world.peer.trust_to_write(1 << 20);
    const ServiceReturnMemory written = world.peer.alloc_return(100'000);
    std::vector<std::byte> read(100'000);
    const auto serve = [](const Service& at) -> Task<> {
      const std::string back = pattern_of(100'000, 2);
      for (int i = 0; i < 2; ++i) {
        const ServiceMessage request = co_await next_request(at);
        (co_await request.reply({}, {.longs = bytes_of(back)})).value();
      }
    };
    const auto ask = [](const ServicePeer& to, std::span<std::byte> place) -> Task<> {
      const ServiceReply reply = co_await to.request("x", {.returns = place});
      BOOST_TEST(reply.long_item(0).data() == place.data());
      BOOST_TEST((text_of(place) == pattern_of(100'000, 2)));
    };
    const auto ask_twice = [&ask](const ServicePeer& to, std::span<std::byte> one,
                                  std::span<std::byte> two) -> Task<> {
      co_await ask(to, one);
      co_await ask(to, two);
    };
    co_await both(ask_twice(world.peer, read, written.bytes()), serve(world.service));
    BOOST_CHECK_THROW(world.peer.trust_to_write(), std::system_error);
    BOOST_CHECK_THROW(static_cast<void>(world.peer.alloc_return(1 << 21)), std::system_error);
  }(*this));
}

BOOST_AUTO_TEST_CASE(return_memory_may_outlive_its_peer) {
  auto short_lived = std::make_unique<ServicePeer>(left, key.id());
  BOOST_CHECK_THROW(static_cast<void>(short_lived->alloc_return(1)), std::system_error);  // not trusted
  short_lived->trust_to_write();
  ServiceReturnMemory memory = short_lived->alloc_return(1000);
  ServiceReturnMemory moved = std::move(memory);
  BOOST_TEST(moved.bytes().size() == 1000U);
  short_lived.reset();
}

// ---------------------------------------------------------------- another life of the service

BOOST_AUTO_TEST_CASE(a_service_that_starts_again_gets_idempotent_requests_again) {
  loop.block_on([](Fixture& world) -> Task<> {
    const auto serve = [](Fixture& at) -> Task<> {
      const ServiceMessage first = co_await next_request(at.service);
      const ServiceMessage second = co_await next_request(at.service);
      { const Service gone = std::move(at.service); }
      at.service = Service(at.right, at.key);
      const ServiceMessage again = co_await next_request(at.service);
      BOOST_TEST(again.text(0) == "again");
      (co_await again.reply("!")).value();
    };
    const auto ask = [](const ServicePeer& to) -> Task<> {
      const auto [once, again] = co_await both(to.request("once"), to.request("again", {.idempotent = true}));
      BOOST_TEST(name_of(once) == "EOWNERDEAD");
      BOOST_TEST(again.value().text(0) == "!");
    };
    co_await both(ask(world.peer), serve(world));
  }(*this));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace exs::cpp
