// SPDX-License-Identifier: BSD-2-Clause
#include "src/provider/iwarp/port.h"

#include <algorithm>
#include <cerrno>
#include <utility>

#include "src/provider/iwarp/limits.h"
#include "src/provider/iwarp/listener.h"

namespace exs::iwarp {
namespace {

constexpr std::size_t kStagingBytesAlone = std::size_t{64} * 1024;
constexpr std::size_t kStagingBytesInBatch = std::size_t{64} * 1024;
constexpr std::uint64_t kTurnsPerLook = 16;
constexpr int kPassesMax = 16;
constexpr int kCrowdedLooks = 16;
constexpr std::size_t kEventsMax = 256;

Status check_parameters(const ConnectParameters& parameters) {
  if (parameters.private_data.size() > kUserPrivateMax) return Status(EMSGSIZE);
  if (parameters.depths.reads_out > kReadDepthMax || parameters.depths.reads_in > kReadDepthMax) {
    return Status(EINVAL);
  }
  return {};
}

}  // namespace

Result<std::unique_ptr<Port>> IwarpPort::open(const Settings& settings) {
  Result<std::unique_ptr<Backend>> backend = make_backend(settings.backend);
  if (!backend) return failure(backend.error());
  Result<Poller> poller = Poller::open();
  if (!poller) return failure(poller.error());
  return std::unique_ptr<Port>(new IwarpPort(std::move(*poller), settings, std::move(*backend)));
}

IwarpPort::IwarpPort(Poller&& poller, const Settings& settings, std::unique_ptr<Backend> backend)
    : context_(std::move(poller), settings),
      backend_(std::move(backend)),
      batch_max_(std::min(backend_->batch_max(), kBatchMax)),
      staging_(std::make_unique_for_overwrite<std::byte[]>(
          std::max(kStagingBytesAlone, batch_max_ * kStagingBytesInBatch))),
      send_slots_(batch_max_) {}

IwarpPort::~IwarpPort() = default;

Result<std::unique_ptr<Link>> IwarpPort::connect(int descriptor, const sockaddr* peer, socklen_t peer_bytes,
                                                 const ConnectParameters& parameters,
                                                 std::uint64_t link_token) {
  if (const Status status = check_parameters(parameters); !status.ok()) return failure(status);
  const Result<TagKey> tag_key = draw_tag_key();
  if (!tag_key) return failure(tag_key.error());
  auto link = std::make_unique<IwarpLink>(context_, descriptor, parameters.depths, link_token, *tag_key);
  if (const Status status = link->start_connect(peer, peer_bytes, parameters.private_data); !status.ok()) {
    return failure(status);
  }
  return link;
}

Result<std::unique_ptr<PortListener>> IwarpPort::listen(int descriptor, const ListenParameters& parameters,
                                                        std::uint64_t listener_token) {
  auto listener = std::make_unique<IwarpListener>(context_, descriptor, parameters, listener_token);
  if (const Status status = listener->start(); !status.ok()) return failure(status);
  return listener;
}

Result<std::unique_ptr<Link>> IwarpPort::accept(std::unique_ptr<ConnectionRequest> request, int descriptor,
                                                const ConnectParameters& parameters,
                                                std::uint64_t link_token) {
  if (const Status status = check_parameters(parameters); !status.ok()) return failure(status);
  const Result<TagKey> tag_key = draw_tag_key();
  if (!tag_key) return failure(tag_key.error());
  // Requests come from our listeners only.
  const auto& incoming = static_cast<IncomingRequest&>(*request);
  auto link = std::make_unique<IwarpLink>(context_, descriptor, parameters.depths, link_token, *tag_key);
  if (const Status status = link->start_accept(incoming, parameters.private_data); !status.ok()) {
    return failure(status);
  }
  return link;
}

void IwarpPort::flush() {
  for (IwarpLink* link : context_.held_back) link->end_holding_back();
  context_.held_back.clear();
  flush_marked();
}

// A thread that sleeps adds no messages, so what is held back must leave. A send that failed shows in no descriptor.
bool IwarpPort::arm() {
  if (context_.held_back.empty()) return context_.to_receive.empty();
  flush();
  return false;
}

void IwarpPort::send_marked(std::vector<IwarpLink*>& marked, void (IwarpLink::*taken)() noexcept) {
  if (marked.empty()) return;
  context_.working.clear();
  context_.working.swap(marked);
  for (IwarpLink* link : context_.working) (link->*taken)();
  send_for(context_.working);
}

void IwarpPort::flush_marked() {
  send_marked(context_.to_flush, &IwarpLink::taken_to_flush);
}

void IwarpPort::send_owed() {
  send_marked(context_.to_send, &IwarpLink::taken_to_send);
}

void IwarpPort::progress(std::uint64_t now_ns) {
  context_.now_ns = now_ns;
  ++context_.look;
  const std::span<IwarpLink* const> hot = context_.hot.links();
  const bool crowded = crowded_looks_ > 0;
  const bool look = hot.empty() || crowded || !context_.to_receive.empty() || ++turns_ >= kTurnsPerLook;
  if (crowded) {
    --crowded_looks_;
  } else {
    context_.working.assign(hot.begin(), hot.end());
    receive_from(context_.working);
  }
  if ((look || context_.fpdus_unasked >= kFpdusPerLook) && !context_.poller.has_no_owners())
    poll_descriptors();
  context_.nudges.nudge_due(now_ns);
  send_owed();
  for (std::size_t i = 0; i < context_.listeners.size(); ++i) context_.listeners[i]->check_deadlines();
}

// What rang is most likely the one busy link. Whatever else there is rings again.
bool IwarpPort::poll_memory(bool rang) {
  if (!rang) return true;
  if (!has_news()) return false;
  return take_news(false);
}

bool IwarpPort::has_news() noexcept {
  if (!watches_one()) return false;
  IwarpLink& link = *context_.hot.links().front();
  ++context_.look;
  if (!link.prepare_receive(jobs_[0], receive_slots_[0], {staging_.get(), kStagingBytesAlone})) return false;
  run_job(jobs_[0]);
  owners_[0] = &link;
  has_received_ = jobs_[0].result != -EAGAIN;
  if (has_received_) return true;
  [[maybe_unused]] const bool more = link.finish_receive(jobs_[0], receive_slots_[0]);
  return !context_.completions.empty();  // it may have ended
}

bool IwarpPort::take_news(const bool& /*enough*/) {
  ++turns_;
  if (std::exchange(has_received_, false) && owners_[0]->finish_receive(jobs_[0], receive_slots_[0])) {
    context_.working.assign(1, owners_[0]);
    receive_from(context_.working);
  }
  send_owed();
  return true;
}

void IwarpPort::poll_descriptors() {
  std::array<epoll_event, kEventsMax> room;
  const std::span<epoll_event> events = context_.poller.look(room);
  context_.fpdus_unasked = 0;
  turns_ = 0;
  for (const epoll_event& event : events) {
    static_cast<Pollable*>(event.data.ptr)->ready(event.events);
  }
  if (context_.to_receive.empty()) return;
  context_.working.clear();
  context_.working.swap(context_.to_receive);
  for (IwarpLink* link : context_.working) link->taken_to_receive();
  const auto cold = std::count_if(context_.working.begin(), context_.working.end(),
                                  [this](const IwarpLink* link) { return !context_.hot.has(link); });
  if (context_.hot.links().size() + static_cast<std::size_t>(cold) > HotLinks::kMax)
    crowded_looks_ = kCrowdedLooks;
  receive_from(context_.working);
}

void IwarpPort::receive_from(std::vector<IwarpLink*>& links) {
  for (int pass = 0; pass < kPassesMax && !links.empty(); ++pass) {
    context_.again.clear();
    for (std::size_t start = 0; start < links.size(); start += batch_max_) {
      receive_batch(std::span(links).subspan(start, std::min(batch_max_, links.size() - start)),
                    context_.again);
    }
    links.swap(context_.again);
  }
}

void IwarpPort::receive_batch(std::span<IwarpLink*> links, std::vector<IwarpLink*>& again) {
  const std::size_t piece = links.size() == 1 ? kStagingBytesAlone : kStagingBytesInBatch;
  std::size_t count = 0;
  for (IwarpLink* link : links) {
    const std::span<std::byte> staging(staging_.get() + count * piece, piece);
    if (!link->prepare_receive(jobs_[count], receive_slots_[count], staging)) continue;
    owners_[count++] = link;
  }
  if (count == 0) return;
  backend_->perform(std::span(jobs_).first(count));
  for (std::size_t i = 0; i < count; ++i) {
    if (owners_[i]->finish_receive(jobs_[i], receive_slots_[i])) again.push_back(owners_[i]);
  }
}

void IwarpPort::send_for(std::vector<IwarpLink*>& links) {
  for (int pass = 0; pass < kPassesMax && !links.empty(); ++pass) {
    context_.again.clear();
    for (std::size_t start = 0; start < links.size(); start += batch_max_) {
      send_batch(std::span(links).subspan(start, std::min(batch_max_, links.size() - start)), context_.again);
    }
    links.swap(context_.again);
  }
  // One busy link must not keep the others waiting: the socket's readiness brings the rest back.
  for (IwarpLink* link : links) link->wait_until_writable();
}

void IwarpPort::send_batch(std::span<IwarpLink*> links, std::vector<IwarpLink*>& again) {
  std::size_t count = 0;
  for (IwarpLink* link : links) {
    if (!link->prepare_send(jobs_[count], send_slots_[count].entries)) continue;
    owners_[count++] = link;
  }
  if (count == 0) return;
  backend_->perform(std::span(jobs_).first(count));
  for (std::size_t i = 0; i < count; ++i) {
    if (owners_[i]->finish_send(jobs_[i])) again.push_back(owners_[i]);
  }
}

std::uint64_t IwarpPort::next_deadline_ns() const noexcept {
  std::uint64_t deadline_ns = context_.nudges.next_deadline_ns();
  for (const IwarpListener* listener : context_.listeners) {
    deadline_ns = std::min(deadline_ns, listener->next_deadline_ns());
  }
  return deadline_ns;
}

}  // namespace exs::iwarp
