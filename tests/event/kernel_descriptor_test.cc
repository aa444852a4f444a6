// KernelDescriptor: the counts of events, as queues and owners go at the same moment.
// SPDX-License-Identifier: BSD-2-Clause
#include <boost/test/unit_test.hpp>

#include <fcntl.h>
#include <sys/eventfd.h>

#include <atomic>
#include <memory>
#include <thread>
#include <utility>

#include "event/queue/kernel_descriptor.h"

namespace exs::test {
namespace kernel_descriptor_test {

// Its flags order no memory, so that TSan sees all that the descriptor itself leaves out.
struct Moments {
  std::atomic<bool> queue_goes{false};
  std::atomic<bool> owner_has_gone{false};

  static void set(std::atomic<bool>& moment) { moment.store(true, std::memory_order_relaxed); }
  static void await(const std::atomic<bool>& moment) {
    while (!moment.load(std::memory_order_relaxed)) std::this_thread::yield();
  }
};

// A queue whose last event has been taken. No pointer finds it any more, but its end takes until the owner has gone.
class SlowKeeper final : public NumberKeeper {
 public:
  explicit SlowKeeper(Moments& moments) : moments_(moments) {}
  ~SlowKeeper() {
    Moments::set(moments_.queue_goes);
    Moments::await(moments_.owner_has_gone);
  }
  SlowKeeper(const SlowKeeper&) = delete;
  SlowKeeper& operator=(const SlowKeeper&) = delete;
  bool await_events(KernelDescriptor::Events& events) noexcept override { return events.await(); }

 private:
  Moments& moments_;
};

}  // namespace kernel_descriptor_test

using namespace kernel_descriptor_test;

BOOST_AUTO_TEST_SUITE(kernel_descriptor_test)

BOOST_AUTO_TEST_CASE(the_last_owner_may_go_while_a_queue_without_events_does) {
  Moments moments;
  std::shared_ptr<KernelDescriptor> number = KernelDescriptor::own(UniqueFd(::eventfd(0, EFD_CLOEXEC)));
  const int descriptor = number->number();
  auto keeper = std::make_shared<SlowKeeper>(moments);
  KernelDescriptor::Events* const events = number->events_in(*keeper, 1);
  BOOST_REQUIRE(events != nullptr);
  events->add();
  std::thread owner([&moments, number = std::move(number)]() mutable {
    Moments::await(moments.queue_goes);
    number.reset();
    Moments::set(moments.owner_has_gone);
  });
  BOOST_TEST(!events->remove());
  keeper.reset();
  owner.join();
  BOOST_TEST(::fcntl(descriptor, F_GETFD) == -1);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace exs::test
