// SPDX-License-Identifier: BSD-2-Clause
#include "tests/fabric/world.h"

#include <cstring>

namespace exs::test {

Info make_hints(const std::function<void(fi_info&)>& change) {
  Info hints(fi_allocinfo());
  BOOST_REQUIRE(hints);
  hints->fabric_attr->prov_name = strdup("exs");
  hints->ep_attr->type = FI_EP_RDM;
  if (change) change(*hints);
  return hints;
}

Info get_info(const Info& hints, int* error) {
  fi_info* found = nullptr;
  const int outcome = fi_getinfo(FI_VERSION(1, 17), nullptr, nullptr, 0, hints.get(), &found);
  if (error != nullptr) *error = -outcome;
  return Info(outcome == 0 ? found : nullptr);
}

namespace {

template <typename Fid, typename Open>
Owned<Fid> open(Open&& call) {
  Fid* made = nullptr;
  BOOST_REQUIRE_EQUAL(call(&made), 0);
  return Owned<Fid>(made);
}

}  // namespace

Side::Side(const Wishes& wishes) : info(get_info(make_hints(wishes.hints))) {
  BOOST_REQUIRE(info);
  fabric = open<fid_fabric>([&](fid_fabric** made) { return fi_fabric(info->fabric_attr, made, nullptr); });
  domain =
      open<fid_domain>([&](fid_domain** made) { return fi_domain(fabric.get(), info.get(), made, nullptr); });
  fi_av_attr av_attr{};
  av_attr.type = info->domain_attr->av_type;
  av = open<fid_av>([&](fid_av** made) { return fi_av_open(domain.get(), &av_attr, made, nullptr); });
  fi_cq_attr cq_attr{};
  cq_attr.format = FI_CQ_FORMAT_TAGGED;
  cq_attr.wait_obj = wishes.wait;
  cq = open<fid_cq>([&](fid_cq** made) { return fi_cq_open(domain.get(), &cq_attr, made, nullptr); });
  ep = open<fid_ep>([&](fid_ep** made) { return fi_endpoint(domain.get(), info.get(), made, nullptr); });
  BOOST_REQUIRE_EQUAL(fi_ep_bind(ep.get(), &av->fid, 0), 0);
  BOOST_REQUIRE_EQUAL(fi_ep_bind(ep.get(), &cq->fid, FI_TRANSMIT | FI_RECV | wishes.queue_flags), 0);
  if (wishes.has_counters) {
    fi_cntr_attr attr{};
    attr.wait_obj = FI_WAIT_UNSPEC;
    const auto open_counter = [&](fid_cntr** made) {
      return fi_cntr_open(domain.get(), &attr, made, nullptr);
    };
    sends = open<fid_cntr>(open_counter);
    receives = open<fid_cntr>(open_counter);
    BOOST_REQUIRE_EQUAL(fi_ep_bind(ep.get(), &sends->fid, FI_SEND), 0);
    BOOST_REQUIRE_EQUAL(fi_ep_bind(ep.get(), &receives->fid, FI_RECV), 0);
  }
  BOOST_REQUIRE_EQUAL(fi_enable(ep.get()), 0);
}

Name Side::name() const {
  Name name{};
  std::size_t length = name.size();
  BOOST_REQUIRE_EQUAL(fi_getname(&ep->fid, name.data(), &length), 0);
  BOOST_REQUIRE_EQUAL(length, kNameBytes);
  return name;
}

fi_addr_t Side::know(const Side& other) {
  const Name name = other.name();
  fi_addr_t address = FI_ADDR_NOTAVAIL;
  BOOST_REQUIRE_EQUAL(fi_av_insert(av.get(), name.data(), 1, &address, 0, nullptr), 1);
  return address;
}

fi_cq_tagged_entry Side::next(fi_addr_t* source) {
  fi_cq_tagged_entry entry{};
  BOOST_REQUIRE_EQUAL(fi_cq_sreadfrom(cq.get(), &entry, 1, source, nullptr, kWaitMs), 1);
  return entry;
}

fi_cq_err_entry Side::next_error() {
  fi_cq_tagged_entry entry{};
  fi_cq_err_entry error{};
  BOOST_REQUIRE_EQUAL(fi_cq_sread(cq.get(), &entry, 1, nullptr, kWaitMs), -FI_EAVAIL);
  BOOST_REQUIRE_EQUAL(fi_cq_readerr(cq.get(), &error, 0), 1);
  return error;
}

bool Side::is_quiet() {
  fi_cq_tagged_entry entry{};
  return fi_cq_read(cq.get(), &entry, 1) == -FI_EAGAIN;
}

Bytes pattern(std::size_t bytes, unsigned seed) {
  Bytes made(bytes);
  for (std::size_t i = 0; i < bytes; ++i) made[i] = static_cast<std::uint8_t>(seed + i * 11 + (i >> 8U));
  return made;
}

}  // namespace exs::test
