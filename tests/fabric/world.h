// Two endpoints of the provider in one process, each with a fabric, domain, address vector, queue and counter of its own, as libfabric
// gives them to an application.
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <rdma/fabric.h>
#include <rdma/fi_cm.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_eq.h>
#include <rdma/fi_errno.h>
#include <rdma/fi_tagged.h>
#include <boost/test/unit_test.hpp>

namespace exs::test {

inline constexpr int kWaitMs = 60'000;
inline constexpr std::size_t kNameBytes = 32;
using Bytes = std::vector<std::uint8_t>;
using Name = std::array<std::uint8_t, kNameBytes>;

// Closes what libfabric has opened.
struct FidClose {
  template <typename Fid>
  void operator()(Fid* fid) const {
    BOOST_TEST(fi_close(&fid->fid) == 0);
  }
};
template <typename Fid>
using Owned = std::unique_ptr<Fid, FidClose>;

struct InfoFree {
  void operator()(fi_info* info) const { fi_freeinfo(info); }
};
using Info = std::unique_ptr<fi_info, InfoFree>;

// Hints for the provider, which `change` may complete.
Info make_hints(const std::function<void(fi_info&)>& change = {});
// Null and an errno of libfabric.
Info get_info(const Info& hints, int* error = nullptr);

struct Wishes {
  std::function<void(fi_info&)> hints;
  fi_wait_obj wait = FI_WAIT_UNSPEC;
  std::uint64_t queue_flags = 0;  // FI_SELECTIVE_COMPLETION
  bool has_counters = false;
};

class Side {
 public:
  explicit Side(const Wishes& wishes = {});
  Side(const Side&) = delete;
  Side& operator=(const Side&) = delete;

  [[nodiscard]] Name name() const;
  fi_addr_t know(const Side& other);

  // The next completion, or error.
  fi_cq_tagged_entry next(fi_addr_t* source = nullptr);
  fi_cq_err_entry next_error();
  [[nodiscard]] bool is_quiet();

  // Memory that is sent stays until the endpoint is closed.
  const Bytes& keep(Bytes bytes) { return kept.emplace_back(std::move(bytes)); }

  std::deque<Bytes> kept;
  Info info;
  Owned<fid_fabric> fabric;
  Owned<fid_domain> domain;
  Owned<fid_av> av;
  Owned<fid_cq> cq;
  Owned<fid_cntr> sends, receives;  // null: not wished for
  Owned<fid_ep> ep;
};

struct TwoSides {
  explicit TwoSides(const Wishes& wishes = {}) : a(wishes), b(wishes) {}
  Side a, b;
  fi_addr_t to_b = a.know(b);
};

Bytes pattern(std::size_t bytes, unsigned seed);

}  // namespace exs::test
