// What the provider offers, and how its objects are put together.
// SPDX-License-Identifier: BSD-2-Clause
#include <netinet/in.h>

#include <cstdlib>
#include <cstring>

#include "tests/fabric/world.h"

namespace exs::test {
namespace {

int error_for(const std::function<void(fi_info&)>& change) {
  int error = 0;
  get_info(make_hints(change), &error);
  return error;
}

// What fi_getinfo says to a node and a service: 0 and `found`, or an errno of libfabric.
int ask(const char* node, const char* service, std::uint64_t flags, Info& found,
        const std::function<void(fi_info&)>& change = {}) {
  fi_info* info = nullptr;
  const Info hints = make_hints(change);
  const int outcome = fi_getinfo(FI_VERSION(1, 17), node, service, flags, hints.get(), &info);
  found.reset(outcome == 0 ? info : nullptr);
  return -outcome;
}

std::string source_in(const fi_info& info) {
  BOOST_REQUIRE(info.src_addr != nullptr);
  std::string text(static_cast<const char*>(info.src_addr));
  BOOST_TEST(info.src_addrlen == text.size() + 1);
  return text;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(set_up)

BOOST_AUTO_TEST_CASE(what_is_asked_for_is_given) {
  const Info info = get_info(make_hints([](fi_info& hints) {
    hints.caps = FI_TAGGED | FI_DIRECTED_RECV;
    hints.domain_attr->av_type = FI_AV_MAP;
    hints.tx_attr->op_flags = FI_DELIVERY_COMPLETE;
    hints.mode = FI_CONTEXT;
  }));
  BOOST_REQUIRE(info);
  BOOST_TEST(info->caps ==
             (FI_TAGGED | FI_SEND | FI_RECV | FI_DIRECTED_RECV | FI_LOCAL_COMM | FI_REMOTE_COMM));
  BOOST_TEST(info->domain_attr->av_type == FI_AV_MAP);
  BOOST_TEST(info->tx_attr->op_flags == FI_DELIVERY_COMPLETE);
  BOOST_TEST(info->mode == 0U);
  BOOST_TEST(info->domain_attr->mr_mode == 0);
  BOOST_TEST((info->ep_attr->mem_tag_format >> 63U) == 0U);
}

BOOST_AUTO_TEST_CASE(what_is_not_offered_is_not_announced) {
  for (const std::uint64_t caps : {FI_RMA, FI_ATOMIC, FI_MULTICAST, FI_NAMED_RX_CTX, FI_TRIGGER})
    BOOST_TEST(error_for([caps](fi_info& hints) { hints.caps = caps; }) == FI_ENODATA, caps);
  BOOST_TEST(error_for([](fi_info& hints) { hints.ep_attr->type = FI_EP_MSG; }) == FI_ENODATA);
  BOOST_TEST(error_for([](fi_info& hints) { hints.tx_attr->inject_size = 1 << 20; }) == FI_ENODATA);
  BOOST_TEST(error_for([](fi_info& hints) { hints.tx_attr->comp_order = FI_ORDER_STRICT; }) == FI_ENODATA);
  BOOST_TEST(error_for([](fi_info& hints) { hints.tx_attr->msg_order = FI_ORDER_RAW; }) == FI_ENODATA);
  BOOST_TEST(error_for([](fi_info& hints) { hints.domain_attr->cq_data_size = 16; }) == FI_ENODATA);
  BOOST_TEST(error_for([](fi_info& hints) { hints.addr_format = FI_SOCKADDR_IN; }) == FI_ENODATA);
}

// A peer's name says more than where it listens, so there is no address to be made of a node.
BOOST_AUTO_TEST_CASE(a_node_that_makes_no_address_is_refused) {
  Info info;
  BOOST_TEST(ask("no-such-node.invalid", "9228", 0, info) == FI_ENODATA);
  BOOST_TEST(ask("127.0.0.1", "9228", 0, info) == FI_ENODATA);
  BOOST_TEST(ask(nullptr, "9228", 0, info) == FI_ENODATA);
  BOOST_TEST(ask("no-such-node.invalid", "9228", FI_SOURCE, info) == FI_ENODATA);
  BOOST_TEST(ask("localhost", "0", FI_SOURCE | FI_NUMERICHOST, info) == FI_ENODATA);
  BOOST_TEST(ask("127.0.0.1", "no-such-service", FI_SOURCE, info) == FI_ENODATA);
  for (const char* const text : {"", "nonsense", "127.0.0.1:", "name:9228"}) {
    const auto with_source = [text](fi_info& hints) {
      hints.src_addr = strdup(text);
      hints.src_addrlen = std::strlen(text);
    };
    BOOST_TEST(ask(nullptr, nullptr, 0, info, with_source) == FI_ENODATA, text);
  }
  const auto with_short_peer = [](fi_info& hints) {
    hints.dest_addr = std::calloc(1, 16);
    hints.dest_addrlen = 16;
  };
  BOOST_TEST(ask(nullptr, nullptr, 0, info, with_short_peer) == FI_ENODATA);
}

BOOST_AUTO_TEST_CASE(sources_are_told_with_their_lengths) {
  Info info;
  BOOST_REQUIRE_EQUAL(ask(nullptr, nullptr, 0, info), 0);
  BOOST_TEST(source_in(*info) == "*:0");
  BOOST_REQUIRE_EQUAL(ask("127.0.0.1", "9299", FI_SOURCE, info), 0);
  BOOST_TEST(source_in(*info) == "127.0.0.1:9299");
  BOOST_REQUIRE_EQUAL(ask("127.0.0.1", nullptr, FI_SOURCE, info), 0);
  BOOST_TEST(source_in(*info) == "127.0.0.1:0");
  BOOST_REQUIRE_EQUAL(ask(nullptr, "9299", FI_SOURCE, info), 0);
  BOOST_TEST(source_in(*info) == "0.0.0.0:9299");
  BOOST_REQUIRE_EQUAL(ask("::1", "9299", FI_SOURCE, info), 0);
  BOOST_TEST(source_in(*info) == "[::1]:9299");
  const auto with_socket_address = [](fi_info& hints) {
    auto* const address = static_cast<sockaddr_in*>(std::calloc(1, sizeof(sockaddr_in)));
    address->sin_family = AF_INET;
    address->sin_port = htons(9299);
    address->sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    hints.src_addr = address;
    hints.src_addrlen = sizeof *address;
  };
  BOOST_REQUIRE_EQUAL(ask(nullptr, nullptr, 0, info, with_socket_address), 0);
  BOOST_TEST(source_in(*info) == "127.0.0.1:9299");
  BOOST_REQUIRE_EQUAL(ask("::1", "9299", FI_SOURCE, info), 0);
  // As an application gives back what it was told.
  Info again;
  BOOST_REQUIRE_EQUAL(ask(nullptr, nullptr, 0, again,
                          [&](fi_info& hints) {
                            hints.src_addr = strdup(static_cast<const char*>(info->src_addr));
                            hints.src_addrlen = info->src_addrlen;
                          }),
                      0);
  BOOST_TEST(source_in(*again) == "[::1]:9299");
}

BOOST_AUTO_TEST_CASE(progress_is_what_was_asked_for) {
  for (const fi_progress asked : {FI_PROGRESS_UNSPEC, FI_PROGRESS_AUTO, FI_PROGRESS_MANUAL}) {
    const fi_progress told = asked == FI_PROGRESS_UNSPEC ? FI_PROGRESS_AUTO : asked;
    const Info data = get_info(make_hints([&](fi_info& hints) { hints.domain_attr->data_progress = asked; }));
    BOOST_REQUIRE(data);
    BOOST_TEST(data->domain_attr->data_progress == told);
    BOOST_TEST(data->domain_attr->control_progress == FI_PROGRESS_AUTO);
    const Info control =
        get_info(make_hints([&](fi_info& hints) { hints.domain_attr->control_progress = asked; }));
    BOOST_REQUIRE(control);
    BOOST_TEST(control->domain_attr->control_progress == told);
    BOOST_TEST(control->domain_attr->data_progress == FI_PROGRESS_AUTO);
  }
}

// No thread needs care, and who takes some is answered so. What MPICH asks for.
BOOST_AUTO_TEST_CASE(threading_is_what_was_asked_for) {
  BOOST_TEST(get_info(make_hints())->domain_attr->threading == FI_THREAD_SAFE);
  for (const fi_threading asked :
       {FI_THREAD_SAFE, FI_THREAD_FID, FI_THREAD_DOMAIN, FI_THREAD_COMPLETION, FI_THREAD_ENDPOINT}) {
    const Info info = get_info(make_hints([&](fi_info& hints) {
      hints.caps = FI_TAGGED | FI_MSG | FI_MULTI_RECV | FI_DIRECTED_RECV;
      hints.domain_attr->threading = asked;
    }));
    BOOST_REQUIRE(info);
    BOOST_TEST(info->domain_attr->threading == asked);
    BOOST_TEST((info->caps & FI_MULTI_RECV) != 0U);
    BOOST_TEST((info->rx_attr->caps & FI_MULTI_RECV) != 0U);
    BOOST_TEST((info->tx_attr->caps & FI_MULTI_RECV) == 0U);
  }
}

// Memory needs no registration. Applications of old know two words for that.
BOOST_AUTO_TEST_CASE(modes_of_memory_are_answered_as_of_old) {
  const auto mode_for = [](std::uint32_t version, int asked) {
    const Info hints = make_hints([asked](fi_info& made) { made.domain_attr->mr_mode = asked; });
    fi_info* found = nullptr;
    BOOST_REQUIRE_EQUAL(fi_getinfo(version, nullptr, nullptr, 0, hints.get(), &found), 0);
    return Info(found)->domain_attr->mr_mode;
  };
  for (const std::uint32_t version : {FI_VERSION(1, 0), FI_VERSION(1, 4)}) {
    BOOST_TEST(mode_for(version, FI_MR_UNSPEC) == FI_MR_SCALABLE);
    BOOST_TEST(mode_for(version, FI_MR_BASIC) == FI_MR_BASIC);
    BOOST_TEST(mode_for(version, FI_MR_SCALABLE) == FI_MR_SCALABLE);
  }
  BOOST_TEST(mode_for(FI_VERSION(1, 5), FI_MR_UNSPEC) == 0);
  BOOST_TEST(mode_for(FI_VERSION(1, 5), FI_MR_BASIC) == FI_MR_BASIC);
  BOOST_TEST(mode_for(FI_VERSION(1, 5), FI_MR_LOCAL | FI_MR_VIRT_ADDR | FI_MR_ALLOCATED) == 0);
}

BOOST_AUTO_TEST_CASE(a_key_that_is_not_there_is_refused) {
  BOOST_TEST(error_for([](fi_info& hints) { hints.ep_attr->auth_key_size = 16; }) == FI_ENODATA);
  BOOST_TEST(error_for([](fi_info& hints) { hints.domain_attr->auth_key_size = 16; }) == FI_ENODATA);
}

// An endpoint that listens everywhere has a name that leads to it, as tcp's does.
BOOST_AUTO_TEST_CASE(a_service_alone_is_at_every_address) {
  Side everywhere(Wishes{.hints =
                             [](fi_info& hints) {
                               hints.src_addr = strdup("0.0.0.0:0");
                               hints.src_addrlen = std::strlen("0.0.0.0:0") + 1;
                             },
                         .wait = FI_WAIT_UNSPEC,
                         .queue_flags = 0,
                         .has_counters = false});
  Name name = everywhere.name();
  constexpr std::size_t kPort = 6, kHost = 8;  // of EXM_NAME_BYTES, in network order
  BOOST_TEST(unsigned{name[kHost]} == 127U);   // EXM_ADDRESS, which is the host that it would choose
  name[kHost + 3] = 9;                         // and of another of its addresses
  BOOST_TEST((name[kPort] != 0 || name[kPort + 1] != 0));
  Side peer;
  fi_addr_t address = FI_ADDR_NOTAVAIL;
  BOOST_REQUIRE_EQUAL(fi_av_insert(peer.av.get(), name.data(), 1, &address, 0, nullptr), 1);
  const std::uint8_t byte = 7;
  std::uint8_t got = 0;
  BOOST_REQUIRE_EQUAL(fi_recv(everywhere.ep.get(), &got, 1, nullptr, FI_ADDR_UNSPEC, nullptr), 0);
  BOOST_REQUIRE_EQUAL(fi_send(peer.ep.get(), &byte, 1, nullptr, address, nullptr), 0);
  everywhere.next();
  BOOST_TEST(unsigned{got} == 7U);
}

// Ends of different keys turn each other away.
BOOST_AUTO_TEST_CASE(keys_keep_strangers_out) {
  const auto with_key = [](std::uint8_t byte) {
    return [byte](fi_info& hints) {
      auto* const key = static_cast<std::uint8_t*>(std::calloc(1, 16));
      key[3] = byte;
      hints.ep_attr->auth_key = key;
      hints.ep_attr->auth_key_size = 16;
    };
  };
  Side one(Wishes{.hints = with_key(1), .wait = FI_WAIT_UNSPEC, .queue_flags = 0, .has_counters = false});
  Side same(Wishes{.hints = with_key(1), .wait = FI_WAIT_UNSPEC, .queue_flags = 0, .has_counters = false});
  Side other(Wishes{.hints = with_key(2), .wait = FI_WAIT_UNSPEC, .queue_flags = 0, .has_counters = false});
  const std::uint8_t byte = 1;
  std::uint8_t got = 0;
  BOOST_REQUIRE_EQUAL(fi_recv(same.ep.get(), &got, 1, nullptr, FI_ADDR_UNSPEC, nullptr), 0);
  BOOST_REQUIRE_EQUAL(fi_send(one.ep.get(), &byte, 1, nullptr, one.know(same), nullptr), 0);
  same.next();
  one.next();
  BOOST_REQUIRE_EQUAL(fi_send(one.ep.get(), &byte, 1, nullptr, one.know(other), nullptr), 0);
  BOOST_TEST(one.next_error().err == ECONNRESET);
}

BOOST_AUTO_TEST_CASE(an_endpoint_needs_all_that_it_tells) {
  Side side;
  fid_ep* ep = nullptr;
  BOOST_REQUIRE_EQUAL(fi_endpoint(side.domain.get(), side.info.get(), &ep, nullptr), 0);
  const Owned<fid_ep> owned(ep);
  Name name{};
  std::size_t length = name.size();
  BOOST_TEST(fi_enable(ep) == -FI_ENOAV);
  BOOST_REQUIRE_EQUAL(fi_ep_bind(ep, &side.av->fid, 0), 0);
  BOOST_TEST(fi_enable(ep) == -FI_ENOCQ);
  BOOST_TEST(fi_getname(&ep->fid, name.data(), &length) == -FI_EOPBADSTATE);
  BOOST_TEST(fi_send(ep, name.data(), 1, nullptr, 0, nullptr) == -FI_EOPBADSTATE);
  BOOST_REQUIRE_EQUAL(fi_ep_bind(ep, &side.cq->fid, FI_TRANSMIT), 0);
  BOOST_TEST(fi_enable(ep) == -FI_ENOCQ);
  BOOST_TEST(fi_ep_bind(ep, &side.cq->fid, FI_TRANSMIT) == -FI_EINVAL);
  BOOST_REQUIRE_EQUAL(fi_ep_bind(ep, &side.cq->fid, FI_RECV), 0);
  BOOST_REQUIRE_EQUAL(fi_enable(ep), 0);
  length = 5;
  BOOST_TEST(fi_getname(&ep->fid, name.data(), &length) == -FI_ETOOSMALL);
  BOOST_TEST(length == kNameBytes);
}

BOOST_AUTO_TEST_CASE(what_is_in_use_is_not_closed) {
  Side side;
  BOOST_TEST(fi_close(&side.cq->fid) == -FI_EBUSY);
  BOOST_TEST(fi_close(&side.av->fid) == -FI_EBUSY);
}

BOOST_AUTO_TEST_CASE(addresses_are_kept_and_forgotten) {
  Side a, b;
  const Name name = b.name();
  const fi_addr_t first = a.know(b), second = a.know(b);
  BOOST_TEST(first == 0U);
  BOOST_TEST(second == 1U);
  Name found{};
  std::size_t length = found.size();
  BOOST_TEST(fi_av_lookup(a.av.get(), second, found.data(), &length) == 0);
  BOOST_TEST((found == name));
  char text[100];
  length = sizeof text;
  BOOST_TEST(std::strncmp(fi_av_straddr(a.av.get(), name.data(), text, &length), "exs://65786d31", 14) == 0);
  fi_addr_t removed = first;
  BOOST_TEST(fi_av_remove(a.av.get(), &removed, 1, 0) == 0);
  BOOST_TEST(fi_av_lookup(a.av.get(), first, found.data(), &length) == -FI_EINVAL);
  BOOST_TEST(fi_av_remove(a.av.get(), &removed, 1, 0) == -FI_EINVAL);
  const std::uint8_t byte = 1;
  BOOST_TEST(fi_inject(a.ep.get(), &byte, 1, first) == -FI_EINVAL);
  BOOST_TEST(fi_inject(a.ep.get(), &byte, 1, second) == 0);
  BOOST_TEST(fi_inject(a.ep.get(), &byte, 1, 77) == -FI_EINVAL);
}

BOOST_AUTO_TEST_CASE(what_is_no_name_is_refused) {
  Side side;
  Name names[2] = {Side().name(), Name{}};
  fi_addr_t addresses[2] = {};
  int errors[2] = {-1, -1};
  BOOST_TEST(fi_av_insert(side.av.get(), names, 2, addresses, FI_SYNC_ERR, errors) == 1);
  BOOST_TEST(addresses[0] == 0U);
  BOOST_TEST(addresses[1] == FI_ADDR_NOTAVAIL);
  BOOST_TEST(errors[0] == 0);
  BOOST_TEST(errors[1] == FI_EINVAL);
}

BOOST_AUTO_TEST_CASE(no_names_at_all_are_refused) {
  Side side;
  fi_addr_t address = 0;
  BOOST_TEST(fi_av_insert(side.av.get(), nullptr, 1, &address, 0, nullptr) == -FI_EINVAL);
  BOOST_TEST(fi_av_remove(side.av.get(), nullptr, 1, 0) == -FI_EINVAL);
  const std::vector<std::uint8_t> nonsense(kNameBytes, 0xff);
  BOOST_TEST(fi_av_insert(side.av.get(), nonsense.data(), 1, &address, 0, nullptr) == 0);
  BOOST_TEST(address == FI_ADDR_NOTAVAIL);
  const std::uint8_t byte = 1;
  BOOST_TEST(fi_inject(side.ep.get(), &byte, 1, address) == -FI_EINVAL);
}

BOOST_AUTO_TEST_CASE(an_insertion_may_end_with_an_event) {
  Side side;
  fi_eq_attr queue_attr{};
  fid_eq* queue = nullptr;
  BOOST_REQUIRE_EQUAL(fi_eq_open(side.fabric.get(), &queue_attr, &queue, nullptr), 0);
  const Owned<fid_eq> owned_queue(queue);
  fi_av_attr attr{};
  attr.flags = FI_EVENT;
  fid_av* av = nullptr;
  BOOST_REQUIRE_EQUAL(fi_av_open(side.domain.get(), &attr, &av, nullptr), 0);
  const Owned<fid_av> owned(av);
  const Name name = side.name();
  fi_addr_t address = FI_ADDR_NOTAVAIL;
  BOOST_TEST(fi_av_insert(av, name.data(), 1, &address, 0, nullptr) == -FI_ENOEQ);
  BOOST_REQUIRE_EQUAL(fi_av_bind(av, &queue->fid, 0), 0);
  BOOST_TEST(fi_av_insert(av, name.data(), 1, &address, 0, &address) == 0);
  std::uint32_t event = 0;
  fi_eq_entry entry{};
  BOOST_TEST(fi_eq_sread(queue, &event, &entry, sizeof entry, kWaitMs, 0) == sizeof entry);
  BOOST_TEST(event == unsigned{FI_AV_COMPLETE});
  BOOST_TEST(entry.fid == &av->fid);
  BOOST_TEST(entry.context == &address);
  BOOST_TEST(entry.data == 1U);
  BOOST_TEST(address == 0U);
}

BOOST_AUTO_TEST_CASE(memory_may_be_registered_for_messages) {
  Side side;
  std::uint8_t memory[64];
  fid_mr* registered = nullptr;
  BOOST_TEST(fi_mr_reg(side.domain.get(), memory, sizeof memory, FI_SEND | FI_RECV, 0, 5, 0, &registered,
                       nullptr) == 0);
  const Owned<fid_mr> owned(registered);
  BOOST_TEST(fi_mr_key(registered) == 5U);
  fid_mr* none = nullptr;
  BOOST_TEST(fi_mr_reg(side.domain.get(), memory, sizeof memory, FI_REMOTE_READ, 0, 5, 0, &none, nullptr) ==
             -FI_EOPNOTSUPP);
}

BOOST_AUTO_TEST_CASE(default_flags_can_be_read_and_set) {
  Side side;
  std::uint64_t flags = FI_TRANSMIT;
  BOOST_TEST(fi_control(&side.ep->fid, FI_GETOPSFLAG, &flags) == 0);
  BOOST_TEST(flags == 0U);
  flags = FI_TRANSMIT | FI_DELIVERY_COMPLETE;
  BOOST_TEST(fi_control(&side.ep->fid, FI_SETOPSFLAG, &flags) == 0);
  flags = FI_TRANSMIT;
  BOOST_TEST(fi_control(&side.ep->fid, FI_GETOPSFLAG, &flags) == 0);
  BOOST_TEST(flags == FI_DELIVERY_COMPLETE);
  flags = FI_TRANSMIT | FI_FENCE;
  BOOST_TEST(fi_control(&side.ep->fid, FI_SETOPSFLAG, &flags) == -FI_EINVAL);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace exs::test
