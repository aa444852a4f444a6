// SPDX-License-Identifier: BSD-2-Clause
#include "perf/baselines/verbs/connection.h"

#include <arpa/inet.h>
#include <sched.h>
#include <sys/mman.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "base/socket_address.h"
#include "tools/common/failure.h"

namespace verbs_baseline {
namespace {

using tools::fail;

constexpr int kResolveLimitMs = 5000;
constexpr unsigned kAcknowledgeEvery = 1024;
constexpr int kReadsMax = 16;  // pending READs, if the device allows that many
constexpr std::uint8_t kRetriesMax = 7;
// siw tells live queue pairs apart by a hash of their size, which works badly for small ones.
constexpr std::uint32_t kRequestsMin = 64;

sockaddr_storage address_of(const std::string& name, std::uint16_t port) {
  const auto address = exs::parse_address(name);
  if (!address) throw tools::Failure("\"" + name + "\" is no IP address");
  return exs::with_port(*address, port);
}

template <typename Object>
Owned<Object> own(Object* object, const char* what) {
  if (object == nullptr) fail(what, errno);
  return Owned<Object>(object);
}

Owned<rdma_event_channel> make_events() {
  return own(rdma_create_event_channel(), "rdma_create_event_channel (is there an RDMA device?)");
}

Owned<rdma_cm_id> make_id(rdma_event_channel* events) {
  rdma_cm_id* id = nullptr;
  if (rdma_create_id(events, &id, nullptr, RDMA_PS_TCP) != 0) fail("rdma_create_id", errno);
  return Owned<rdma_cm_id>(id);
}

// Waits for this event of connection management. Returns the event's id.
rdma_cm_id* expect(rdma_event_channel* events, rdma_cm_event_type wanted) {
  rdma_cm_event* event = nullptr;
  if (rdma_get_cm_event(events, &event) != 0) fail("rdma_get_cm_event", errno);
  const rdma_cm_event_type came = event->event;
  const int status = event->status;
  rdma_cm_id* id = event->id;
  rdma_ack_cm_event(event);
  if (came == wanted) return id;
  throw tools::Failure(std::string(rdma_event_str(came)) + " in place of " + rdma_event_str(wanted) +
                       ", status " + std::to_string(status));
}

std::byte* map_pages(std::size_t length) {
  void* pages = mmap(nullptr, length, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (pages == MAP_FAILED) fail("cannot map " + std::to_string(length) + " bytes", errno);
  std::memset(pages, 0, length);
  return static_cast<std::byte*>(pages);
}

}  // namespace

Completions::Completions(ibv_context* device, int depth, bool busy)
    : busy_(busy),
      channel_(own(ibv_create_comp_channel(device), "ibv_create_comp_channel")),
      queue_(own(ibv_create_cq(device, depth, nullptr, channel_.get(), 0), "ibv_create_cq")) {}

Completions::~Completions() {
  ibv_ack_cq_events(queue_.get(), unacknowledged_);
}

std::size_t Completions::wait(std::span<ibv_wc> out) {
  for (;;) {
    const int found = ibv_poll_cq(queue_.get(), static_cast<int>(out.size()), out.data());
    if (found < 0) throw tools::Failure("ibv_poll_cq failed");
    const auto taken = out.first(static_cast<std::size_t>(found));
    for (const ibv_wc& one : taken) {
      if (one.status != IBV_WC_SUCCESS) throw tools::Failure(ibv_wc_status_str(one.status));
    }
    if (!taken.empty()) return taken.size();
    if (!busy_) sleep();
  }
}

// The first call arms the queue, and the caller polls again: that finds completions from before.
void Completions::sleep() {
  if (!armed_) {
    const int error = ibv_req_notify_cq(queue_.get(), 0);
    if (error != 0) fail("ibv_req_notify_cq", error);
    armed_ = true;
    return;
  }
  ibv_cq* queue = nullptr;
  void* context = nullptr;
  if (ibv_get_cq_event(channel_.get(), &queue, &context) != 0) fail("ibv_get_cq_event", errno);
  armed_ = false;
  if (++unacknowledged_ < kAcknowledgeEvery) return;
  ibv_ack_cq_events(queue_.get(), unacknowledged_);
  unacknowledged_ = 0;
}

void Connection::Pages::operator()(std::byte* pages) const {
  munmap(pages, length);
}

// iWARP devices require remote write access for memory that READs arrive in.
Connection::Connection(Owned<rdma_event_channel> events, Owned<rdma_cm_id> id, const Needs& needs)
    : events_(std::move(events)),
      id_(std::move(id)),
      sent_(id_->verbs, static_cast<int>(std::max(needs.sends, kRequestsMin)), needs.busy),
      received_(id_->verbs, static_cast<int>(std::max(needs.receives, kRequestsMin)), needs.busy),
      memory_bytes_(needs.memory_bytes),
      memory_(map_pages(needs.memory_bytes), Pages{needs.memory_bytes}),
      domain_(own(ibv_alloc_pd(id_->verbs), "ibv_alloc_pd")),
      region_(own(ibv_reg_mr(domain_.get(), memory_.get(), memory_bytes_,
                             IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_WRITE),
                  "ibv_reg_mr")) {
  make_queue_pair(needs);
}

Connection::~Connection() {
  rdma_disconnect(id_.get());
  rdma_destroy_qp(id_.get());
}

void Connection::make_queue_pair(const Needs& needs) {
  ibv_qp_init_attr wanted{};
  wanted.send_cq = sent_.queue();
  wanted.recv_cq = received_.queue();
  wanted.qp_type = IBV_QPT_RC;
  wanted.cap = {std::max(needs.sends, kRequestsMin), std::max(needs.receives, kRequestsMin), 1, 1,
                needs.inline_bytes};
  ibv_qp_init_attr given = wanted;
  int status = rdma_create_qp(id_.get(), domain_.get(), &given);
  is_inline_ = status == 0 && needs.inline_bytes > 0;
  if (status != 0) {
    given = wanted;
    given.cap.max_inline_data = 0;
    status = rdma_create_qp(id_.get(), domain_.get(), &given);
  }
  if (status != 0) fail("rdma_create_qp", errno);
}

rdma_conn_param Connection::parameters() const {
  ibv_device_attr device{};
  const int error = ibv_query_device(id_->verbs, &device);
  if (error != 0) fail("ibv_query_device", error);
  rdma_conn_param out{};
  out.responder_resources = static_cast<std::uint8_t>(std::min(device.max_qp_rd_atom, kReadsMax));
  out.initiator_depth = static_cast<std::uint8_t>(std::min(device.max_qp_init_rd_atom, kReadsMax));
  out.retry_count = kRetriesMax;
  out.rnr_retry_count = kRetriesMax;
  return out;
}

void Connection::post_receive(std::uint64_t at, std::uint32_t length) {
  ibv_sge piece{reinterpret_cast<std::uintptr_t>(memory_.get()) + at, length, region_->lkey};
  ibv_recv_wr request{};
  request.sg_list = &piece;
  request.num_sge = 1;
  ibv_recv_wr* refused = nullptr;
  const int error = ibv_post_recv(id_->qp, &request, &refused);
  if (error != 0) fail("ibv_post_recv", error);
}

void Connection::post_send(std::uint64_t at, std::uint32_t length, bool signaled) {
  ibv_send_wr request{};
  request.opcode = IBV_WR_SEND;
  request.send_flags = static_cast<unsigned>(signaled ? IBV_SEND_SIGNALED : 0) |
                       static_cast<unsigned>(is_inline_ ? IBV_SEND_INLINE : 0);
  post(request, at, length);
}

void Connection::post_read(std::uint64_t at, std::uint32_t length, std::uint64_t peer_address,
                           std::uint32_t peer_key) {
  ibv_send_wr request{};
  request.opcode = IBV_WR_RDMA_READ;
  request.send_flags = IBV_SEND_SIGNALED;
  request.wr.rdma.remote_addr = peer_address + at;
  request.wr.rdma.rkey = peer_key;
  post(request, at, length);
}

void Connection::post(ibv_send_wr& request, std::uint64_t at, std::uint32_t length) {
  ibv_sge piece{reinterpret_cast<std::uintptr_t>(memory_.get()) + at, length, region_->lkey};
  request.sg_list = &piece;
  request.num_sge = 1;
  ibv_send_wr* refused = nullptr;
  const int error = ibv_post_send(id_->qp, &request, &refused);
  if (error != 0) fail("ibv_post_send", error);
}

Listener::Listener(const std::string& address) : events_(make_events()), id_(make_id(events_.get())) {
  sockaddr_storage any_port = address_of(address, 0);
  if (rdma_bind_addr(id_.get(), exs::as_sockaddr(any_port)) != 0)
    fail("no RDMA device carries " + address + ": rdma_bind_addr", errno);
  if (id_->verbs == nullptr) throw tools::Failure("no RDMA device carries " + address);
  if (rdma_listen(id_.get(), 1) != 0) fail("rdma_listen on " + address, errno);
}

std::uint16_t Listener::port() const {
  return ntohs(rdma_get_src_port(id_.get()));
}

std::unique_ptr<Connection> Listener::take(const Needs& needs) {
  Owned<rdma_cm_id> id(expect(events_.get(), RDMA_CM_EVENT_CONNECT_REQUEST));
  return std::unique_ptr<Connection>(new Connection(nullptr, std::move(id), needs));
}

void Listener::establish(Connection& connection) {
  rdma_conn_param parameters = connection.parameters();
  if (rdma_accept(connection.id_.get(), &parameters) != 0) fail("rdma_accept", errno);
  expect(connection.id_->channel, RDMA_CM_EVENT_ESTABLISHED);
}

std::unique_ptr<Connection> connect(const std::string& address, std::uint16_t port, const Needs& needs) {
  Owned<rdma_event_channel> events = make_events();
  Owned<rdma_cm_id> id = make_id(events.get());
  sockaddr_storage peer = address_of(address, port);
  if (rdma_resolve_addr(id.get(), nullptr, exs::as_sockaddr(peer), kResolveLimitMs) != 0)
    fail("rdma_resolve_addr", errno);
  expect(events.get(), RDMA_CM_EVENT_ADDR_RESOLVED);
  if (rdma_resolve_route(id.get(), kResolveLimitMs) != 0) fail("rdma_resolve_route", errno);
  expect(events.get(), RDMA_CM_EVENT_ROUTE_RESOLVED);
  std::unique_ptr<Connection> out(new Connection(std::move(events), std::move(id), needs));
  rdma_conn_param parameters = out->parameters();
  if (rdma_connect(out->id_.get(), &parameters) != 0) fail("rdma_connect", errno);
  expect(out->events_.get(), RDMA_CM_EVENT_ESTABLISHED);
  return out;
}

}  // namespace verbs_baseline
