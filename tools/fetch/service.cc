// SPDX-License-Identifier: BSD-2-Clause
#include "tools/fetch/service.h"

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "tools/common/clock.h"

namespace fetch {
namespace {

// The memory of an answer is held until the answer is complete, so the node's default limit does not fit.
constexpr std::uint64_t kMemoryMax = std::uint64_t{1} << 40U;

[[noreturn]] void fail(const std::string& what) {
  throw tools::Failure(what + ": " + exs_svc_errtext());
}

[[noreturn]] void fail_reply(const std::string& what) {
  throw tools::Failure("the service does not answer as bindings/java/jetty/FORMAT.md has it: " + what);
}

// Errors that are not the request's fault may be gone at the next try, so they throw Broken.
[[noreturn]] void fail_request(const std::string& name, int error) {
  switch (error) {
    case ENOENT: throw Broken(name + ": nobody is the service");
    case EACCES: throw tools::Failure(name + ": the service does not serve those without a capability");
    case ENOBUFS: throw Broken(name + ": the service has no room for a request");
    case ECANCELED: throw Broken(name + ": the service has broken off its answer");
    default: throw Broken(name + ": " + std::strerror(error));
  }
}

exs_svc_node_t* open_node(const Way& way) {
  exs_svc_node_options_t options{};
  options.struct_bytes = sizeof options;
  options.find_ns = way.limit.count();
  options.memory_max = kMemoryMax;
  exs_svc_node_t* const node = exs_svc_node_open(&options);
  if (node == nullptr) fail("cannot open a node");
  return node;
}

// The Host field has the service's name. A colon would begin a port there, so that of an ID is replaced.
std::string head_for(const Url& url) {
  std::string host = url.service;
  std::replace(host.begin(), host.end(), ':', '-');
  return "GET " + url.path + " HTTP/1.1\r\nHost: " + host + "\r\nUser-Agent: exs-fetch\r\n\r\n";
}

std::uint32_t number_of(const exs_svc_message_t& part) {
  if (part.items_count < 2 || part.items_count > 3 || part.items[0].length != 4)
    fail_reply("a part without a number");
  const auto* const bytes = static_cast<const unsigned char*>(part.items[0].data);
  return std::uint32_t{bytes[0]} << 24U | std::uint32_t{bytes[1]} << 16U | std::uint32_t{bytes[2]} << 8U |
         bytes[3];
}

}  // namespace

// Memory for one long item: the peer's if its service writes there, else memory of exs.
struct ServicePeer::Place {
  Place(exs_svc_peer_t* peer, bool is_written, std::size_t bytes) : length(bytes), is_of_peer(is_written) {
    memory = is_of_peer ? exs_svc_return_alloc(peer, length) : exs_alloc(length, &region);
    if (memory == nullptr) tools::fail("memory for an answer", errno);
  }
  ~Place() {
    if (is_of_peer)
      exs_svc_return_free(memory);  // it may have gone with its peer
    else
      exs_free(memory);
  }
  Place(const Place&) = delete;
  Place& operator=(const Place&) = delete;

  const std::size_t length;
  const bool is_of_peer;
  void* memory = nullptr;
  exs_mhandle_t region = EXS_MHANDLE_UNREGISTERED;
};

ServicePeer::ServicePeer(const std::string& name, Way way) : way_(std::move(way)) {
  exs_svc_id_t id{};
  if (exs_svc_find(nullptr, name.c_str(), &id) != 0) fail(name);
  node_ = open_node(way_);
  peer_ = exs_svc_peer_open(node_, nullptr, &id, nullptr, nullptr);
  if (peer_ != nullptr &&
      (!way_.is_written || exs_svc_peer_trust(peer_, EXS_SVC_TRUST_WRITE, EXS_SVC_RETURN_MAX) == 0))
    return;
  const std::string why = exs_svc_errtext();
  exs_svc_node_close(node_);
  throw tools::Failure(name + ": " + why);
}

ServicePeer::~ServicePeer() {
  release();
  exs_svc_node_close(node_);  // the library reads into the places until then
}

const Answer& ServicePeer::get(const Url& url) {
  const auto known = known_.find(url.path);
  const Lengths expected = known == known_.end() ? Lengths() : known->second;
  if (!ask(url, expected) && (expected.empty() || !ask(url, {}))) fail_request(url.service, ENOBUFS);
  if (lengths_.size() > EXS_SVC_ITEMS_MAX) lengths_.clear();
  if (lengths_ != expected) known_[url.path] = lengths_;
  return answer_;
}

bool ServicePeer::ask(const Url& url, const Lengths& expected) {
  release();
  std::string head = head_for(url);
  const bool is_long = head.size() > EXS_SVC_SHORT_MAX;
  const exs_svc_item_t item{head.data(), head.size()};
  const exs_iovec_t piece{head.data(), head.size(), EXS_MHANDLE_UNREGISTERED, 0};
  const std::vector<exs_iovec_t> places = places_for(expected);
  exs_svc_request_options_t options{};
  options.struct_bytes = sizeof options;
  // Finding the service is a step of its own, with a limit of its own.
  options.limit_ns = 2 * way_.limit.count();
  options.flags = EXS_SVC_IDEMPOTENT;
  options.returns = places.data();
  options.returns_count = static_cast<std::int32_t>(places.size());
  if (exs_svc_request(peer_, &item, is_long ? 0 : 1, &piece, is_long ? 1 : 0, &options, nullptr) != 0)
    fail("cannot ask " + url.service);
  for (;;) {
    exs_svc_event_t event{};
    const int count = exs_svc_wait(node_, &event, 1, -1);
    if (count < 0 && errno != EINTR) fail("cannot wait");
    if (count < 1 || event.type != EXS_SVC_EVT_REPLY) continue;
    if (event.error == ENOBUFS) return false;
    if (event.error != 0) fail_request(url.service, event.error);
    take(event);
    if ((event.flags & EXS_SVC_MORE) == 0) return true;
  }
}

void ServicePeer::take(const exs_svc_event_t& event) {
  const exs_svc_message_t& part = *event.message;
  parts_.push_back(&part);
  const std::uint32_t number = number_of(part);
  std::size_t next = 0;
  if (number == 0) next = begin_answer(part);
  if (number + 1 != parts_.size()) fail_reply("its parts are out of order");
  answer_.status = event.status;
  if (part.items_count > 2) add(part.items[2]);
  for (; next < part.longs_count; ++next) add(part.longs[next]);
  for (std::uint32_t i = 0; i < part.longs_count; ++i) lengths_.push_back(part.longs[i].length);
}

// The first part arrives again if the service has restarted.
std::size_t ServicePeer::begin_answer(const exs_svc_message_t& part) {
  parts_.pop_back();
  release();
  parts_.push_back(&part);
  if (part.items[1].length > 0) return 0;
  if (part.longs_count == 0) fail_reply("there is no head");
  return 1;
}

void ServicePeer::add(const exs_svc_item_t& piece) {
  answer_.body.emplace_back(static_cast<const char*>(piece.data), piece.length);
}

std::vector<exs_iovec_t> ServicePeer::places_for(const Lengths& expected) {
  std::vector<exs_iovec_t> places;
  for (const std::size_t length : expected) places.push_back(room(places.size(), length));
  return places;
}

exs_iovec_t ServicePeer::room(std::size_t place, std::size_t length) {
  if (place == places_.size()) places_.emplace_back();
  std::unique_ptr<Place>& here = places_[place];
  if (here == nullptr || here->length < length) {
    here = nullptr;
    here = std::make_unique<Place>(peer_, way_.is_written, std::max<std::size_t>(length, 1));
  }
  return {here->memory, length, here->region, 0};
}

void ServicePeer::release() {
  for (const exs_svc_message_t* const part : parts_) exs_svc_release(part);
  parts_.clear();
  lengths_.clear();
  answer_ = {};
}

}  // namespace fetch
