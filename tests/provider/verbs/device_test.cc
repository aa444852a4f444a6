// A device as a process uses it.
// SPDX-License-Identifier: BSD-2-Clause
#include <boost/test/unit_test.hpp>

#include <rdma/rdma_cma.h>

#include "src/provider/verbs/device.h"
#include "tests/provider/verbs/device_pair.h"

using namespace exs;
using namespace exs::verbs;
using namespace exs::verbs::test;

namespace device_test {

// The device with EXS_TEST_ADDRESS, as the provider comes by it.
struct OpenDevice {
  OpenDevice() {
    sockaddr_in address = device_address();
    require(::rdma_create_id(nullptr, &id, nullptr, RDMA_PS_TCP) == 0, "rdma_create_id");
    require(::rdma_bind_addr(id, reinterpret_cast<sockaddr*>(&address)) == 0 && id->verbs != nullptr,
            "rdma_bind_addr");
    Result<Device*> found = devices.find(id->verbs);
    require(found.has_value(), "the device opens");
    device = *found;
  }
  ~OpenDevice() { ::rdma_destroy_id(id); }

  rdma_cm_id* id = nullptr;
  Devices devices;
  Device* device = nullptr;
};

}  // namespace device_test

BOOST_FIXTURE_TEST_SUITE(device_test, OpenDevice)

// siw's keys are page numbers, one of which it misreads: these take 1, 2, 3 and 9 pages each, and all meet
// it.
BOOST_AUTO_TEST_CASE(every_one_of_many_queues_can_be_made) {
  for (const int entries : {64, 128, 256, 1024}) {
    std::vector<OwnedCq> queues;
    for (int made = 0; made < 200; ++made) {
      queues.emplace_back(::ibv_create_cq(device->context(), entries, nullptr, nullptr, 0));
      BOOST_REQUIRE_MESSAGE(queues.back() != nullptr, "queue " << made << " of " << entries << " entries");
    }
  }
}

BOOST_AUTO_TEST_SUITE_END()
