// SPDX-License-Identifier: BSD-2-Clause
#include "src/provider/verbs/queue_pair.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

#include "base/contain.h"
#include "src/log/log.h"

namespace exs::verbs {
namespace {

// Room for more than a quiet connection uses.
constexpr std::uint32_t kDepthMin = 64;
constexpr std::uint32_t kWrites = 16;
constexpr std::uint32_t kInlineWishes[] = {128, 64, 0};  // whatever the device can do
constexpr std::size_t kInlineMax = 512;                  // some give more than asked for
// 0.64 ms, in the field's own code (InfiniBand, RNR NAK timer): the default is 655 ms.
constexpr std::uint8_t kRetryTimer = 12;

Status status_of(ibv_wc_status status) {
  switch (status) {
    case IBV_WC_RETRY_EXC_ERR:
    case IBV_WC_RNR_RETRY_EXC_ERR:
    case IBV_WC_RESP_TIMEOUT_ERR: return Status(ETIMEDOUT);
    case IBV_WC_LOC_PROT_ERR:
    case IBV_WC_LOC_LEN_ERR: return Status(EFAULT);
    default: return Status(ECONNRESET);
  }
}

}  // namespace

Result<std::unique_ptr<QueuePair>> QueuePair::make(Queues& queues, rdma_cm_id& id, const LinkDepths& depths,
                                                   QueuePairClient& client) {
  std::unique_ptr<QueuePair> made(new QueuePair(queues, id, client, depths));
  if (const Status status = made->create(depths); !status.ok()) return failure(status);
  return made;
}

QueuePair::QueuePair(Queues& queues, rdma_cm_id& id, QueuePairClient& client, const LinkDepths& depths)
    : queues_(queues),
      id_(id),
      client_(&client),
      own_receives_(queues.device(), (std::size_t{depths.message_bytes} + 7) / 8 * 8, depths.receives) {}

QueuePair::~QueuePair() {
  destroy();
}

Status QueuePair::create(const LinkDepths& depths) {
  const ibv_device_attr& limits = queues_.device().limits();
  const auto deepest = static_cast<std::uint32_t>(std::max(limits.max_qp_wr, 1));
  ibv_srq* const shared = queues_.shared_receives(depths.message_bytes);
  shares_receives_ = shared != nullptr;
  share_.posts = std::min(std::max(kDepthMin, depths.sends + depths.reads_out + kWrites), deepest);
  share_.receives = shares_receives_ ? 0 : std::min(std::max(kDepthMin, depths.receives), deepest);
  if (!shares_receives_ && share_.receives < depths.receives) return Status(ENOMEM);
  Result<Lane*> lane = queues_.reserve(share_);
  if (!lane) return lane.error();
  lane_ = *lane;

  ibv_qp_init_attr_ex attributes{};
  attributes.qp_type = IBV_QPT_RC;
  attributes.comp_mask = IBV_QP_INIT_ATTR_PD;
  attributes.pd = queues_.device().domain();
  attributes.send_cq = lane_->posts.queue.get();
  attributes.recv_cq = lane_->messages.queue.get();
  attributes.srq = shared;
  attributes.sq_sig_all = 1;
  for (const std::uint32_t inline_bytes : kInlineWishes) {
    attributes.cap = {share_.posts, share_.receives, 1, 1, inline_bytes};
    created_ = ::rdma_create_qp_ex(&id_, &attributes) == 0;
    if (created_) break;
  }
  if (!created_) {
    const Status status(errno);
    queues_.release(*lane_, share_);
    return status;
  }
  depth_ = share_.posts;
  inline_max_ = std::min<std::size_t>(attributes.cap.max_inline_data, kInlineMax);
  number_ = id_.qp->qp_num;
  if (shares_receives_) queues_.user_joins();
  queues_.add(number_, *this);
  const Status status = shares_receives_ ? queues_.provide_receives() : post_own_receives();
  return status.ok() ? queues_.device().begin_use() : status;
}

void QueuePair::forget_client() noexcept {
  client_ = nullptr;
  queues_.begin_waiting();
}

void QueuePair::destroy() noexcept {
  if (!created_) return;
  created_ = false;
  if (!failed_ && !is_idle()) {
    ibv_qp_attr attributes{};
    attributes.qp_state = IBV_QPS_ERR;
    ::ibv_modify_qp(id_.qp, &attributes, IBV_QP_STATE);
  }
  failed_ = true;
  ::rdma_destroy_qp(&id_);
  queues_.remove(number_);
  queues_.release(*lane_, share_);
  if (shares_receives_) queues_.user_leaves();
  if (client_ != nullptr) return;
  queues_.end_waiting();
  Unfinished forgotten;
  while (take_unfinished(forgotten)) continue;
}

void QueuePair::retry_soon() noexcept {
  if (!shares_receives_) return;
  ibv_qp_attr attributes{};
  attributes.qp_state = IBV_QPS_RTS;
  attributes.min_rnr_timer = kRetryTimer;
  ::ibv_modify_qp(id_.qp, &attributes, IBV_QP_STATE | IBV_QP_MIN_RNR_TIMER);
}

// ---------------------------------------------------------------- receives

Status QueuePair::post_own_receives() {
  Status status = own_receives_.grow();
  for (BufferNumber buffer = own_receives_.take_buffer(); status.ok() && buffer != kNoBuffer;
       buffer = own_receives_.take_buffer()) {
    status = post_receive(buffer);
  }
  return status;
}

Status QueuePair::post_receive(BufferNumber buffer) noexcept {
  ibv_sge entry = own_receives_.entry(buffer, own_receives_.buffer_bytes());
  ibv_recv_wr request{buffer, nullptr, &entry, 1};
  ibv_recv_wr* refused = nullptr;
  return Status(::ibv_post_recv(id_.qp, &request, &refused));
}

void QueuePair::message_arrived(const ibv_wc& completion) {
  const auto buffer = static_cast<BufferNumber>(completion.wr_id);
  Buffers& buffers = shares_receives_ ? queues_.receive_buffers() : own_receives_;
  if (completion.status != IBV_WC_SUCCESS) {
    fail(completion.status);
  } else if (client_ != nullptr) {
    client_->message_arrived(buffers.memory(buffer).first(completion.byte_len));
  }
  if (shares_receives_) {
    queues_.repost(buffer);
  } else if (!failed_) {
    [[maybe_unused]] const Status told_by_other_means = post_receive(buffer);
  }
}

// ---------------------------------------------------------------- posts

Status QueuePair::send(std::span<const std::byte> header, std::span<const std::byte> payload) {
  make_room();
  const std::size_t length_bytes = header.size() + payload.size();
  if (length_bytes <= inline_max_ && waiting_.empty() && posted_.count() < depth_)
    return send_inline(header, payload);
  Buffers& buffers = queues_.send_buffers(length_bytes);
  if (length_bytes > buffers.buffer_bytes()) return Status(EMSGSIZE);
  Work work;
  work.post.buffers = &buffers;
  work.post.buffer = buffers.take_buffer();
  if (work.post.buffer == kNoBuffer) {
    if (const Status status = buffers.grow(); !status.ok()) return status;
    work.post.buffer = buffers.take_buffer();
  }
  std::byte* const to = buffers.memory(work.post.buffer).data();
  std::copy(header.begin(), header.end(), to);
  std::copy(payload.begin(), payload.end(), to + header.size());
  work.entry = buffers.entry(work.post.buffer, length_bytes);
  return queue(std::move(work));
}

Status QueuePair::send_inline(std::span<const std::byte> header, std::span<const std::byte> payload) {
  std::array<std::byte, kInlineMax> together;
  std::copy(header.begin(), header.end(), together.begin());
  std::copy(payload.begin(), payload.end(), together.begin() + static_cast<std::ptrdiff_t>(header.size()));
  ibv_sge entry{reinterpret_cast<std::uintptr_t>(together.data()),
                static_cast<std::uint32_t>(header.size() + payload.size()), 0};
  ibv_send_wr request{};
  request.sg_list = &entry;
  request.num_sge = 1;
  request.opcode = IBV_WR_SEND;
  request.send_flags = IBV_SEND_INLINE;
  return post_on(request, {});
}

Status QueuePair::read(LocalSlice into, RemoteSlice from, std::uint64_t token) {
  Work work;
  work.post.kind = Kind::kRead;
  work.post.token = token;
  work.remote = from;
  std::uint32_t key = 0;
  if (queues_.device().is_iwarp()) {
    // The peer learns the sink's key and may write there, so it is of this READ alone.
    Result<MemoryRegion> sink = queues_.device().expose({into.address, into.length_bytes},
                                                        IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE);
    if (!sink) return sink.error();
    work.post.sink = std::move(*sink);
    key = work.post.sink->lkey;
  } else {
    key = queues_.device().local_key(into.key);
    if (key == 0) return Status(EINVAL);
  }
  work.entry = {reinterpret_cast<std::uintptr_t>(into.address), static_cast<std::uint32_t>(into.length_bytes),
                key};
  return queue(std::move(work));
}

Status QueuePair::write(LocalSlice from, RemoteSlice to, std::uint64_t token) {
  Work work;
  work.post.kind = Kind::kWrite;
  work.post.token = token;
  work.remote = to;
  const std::uint32_t key = queues_.device().local_key(from.key);
  if (key == 0) return Status(EINVAL);
  work.entry = {reinterpret_cast<std::uintptr_t>(from.address), static_cast<std::uint32_t>(from.length_bytes),
                key};
  return queue(std::move(work));
}

Status QueuePair::nudge() {
  Work work;
  work.post.kind = Kind::kNudge;
  work.remote.key = 1;  // hardware may refuse 0
  return queue(std::move(work));
}

void QueuePair::make_room() {
  if (waiting_.empty() && posted_.count() < depth_) {
    posted_.reserve(posted_.count() + 1);
  } else {
    waiting_.reserve(waiting_.count() + 1);
  }
}

Status QueuePair::queue(Work work) {
  make_room();
  const Kind kind = work.post.kind;
  const bool transfer = kind == Kind::kRead || kind == Kind::kWrite;
  if (transfer) queues_.begin_waiting();  // before it can complete
  if (waiting_.empty() && posted_.count() < depth_) {
    if (const Status status = post(work); !status.ok()) {
      if (transfer) queues_.end_waiting();
      return status;
    }
  } else {
    queues_.begin_waiting();
    waiting_.push_back(std::move(work));
    queues_.poll();  // work requests that make room may have completed before they could ring
  }
  if (transfer) ++transfers_;
  return Status();
}

Status QueuePair::post(Work& work) {
  ibv_send_wr request{};
  request.sg_list = &work.entry;
  request.num_sge = work.post.kind == Kind::kNudge ? 0 : 1;
  switch (work.post.kind) {
    case Kind::kMessage: request.opcode = IBV_WR_SEND; break;
    case Kind::kRead: request.opcode = IBV_WR_RDMA_READ; break;
    case Kind::kWrite:
    case Kind::kNudge: request.opcode = IBV_WR_RDMA_WRITE; break;
  }
  request.wr.rdma.remote_addr = work.remote.address;
  request.wr.rdma.rkey = work.remote.key;
  return post_on(request, std::move(work.post));
}

Status QueuePair::post_on(ibv_send_wr& request, Post done) {
  ibv_send_wr* refused = nullptr;
  request.wr_id = first_id_ + posted_.count();
  const int error = ::ibv_post_send(id_.qp, &request, &refused);
  if (error != 0) {
    give_back(done);
    return Status(error == EINVAL ? ECONNRESET : error);  // that of a queue pair in error
  }
  queues_.post_begins();
  posted_.push_back(std::move(done));
  return Status();
}

void QueuePair::give_back(Post& done) noexcept {
  if (done.buffer != kNoBuffer) done.buffers->give_back(done.buffer);
  done.buffer = kNoBuffer;
  done.sink.reset();
}

QueuePair::Post QueuePair::pop_posted() {
  ++first_id_;
  return posted_.pop_front();
}

void QueuePair::post_completed(const ibv_wc& completion) {
  const std::uint64_t place = completion.wr_id - first_id_;
  if (place >= posted_.count() || posted_[place].done) return;
  if (completion.status != IBV_WC_SUCCESS) return fail(completion.status);
  Post& done = posted_[place];
  done.done = true;
  const Kind kind = done.kind;
  const std::uint64_t token = done.token;
  queues_.post_ends();
  give_back(done);
  while (!posted_.empty() && posted_.front().done) pop_posted();
  if (kind == Kind::kRead || kind == Kind::kWrite) {
    --transfers_;
    queues_.end_waiting();
    if (client_ != nullptr)
      client_->transfer_done(kind == Kind::kRead ? CompletionKind::kRead : CompletionKind::kWrite, token);
  }
  contain([this] { post_waiting(); }, [this] { fail(IBV_WC_GENERAL_ERR); });
}

void QueuePair::post_waiting() {
  while (!failed_ && !waiting_.empty() && posted_.count() < depth_) {
    posted_.reserve(posted_.count() + 1);
    queues_.end_waiting();
    Work work = waiting_.pop_front();
    const Post& post_of = work.post;
    const Unfinished lost{post_of.kind == Kind::kRead ? CompletionKind::kRead : CompletionKind::kWrite,
                          post_of.token};
    const bool transfer = post_of.kind == Kind::kRead || post_of.kind == Kind::kWrite;
    if (post(work).ok()) continue;
    if (transfer) {  // it is still owed a completion
      queues_.post_begins();
      posted_.push_back({lost.kind == CompletionKind::kRead ? Kind::kRead : Kind::kWrite, lost.token,
                         kNoBuffer, nullptr, nullptr});
    }
    fail(IBV_WC_GENERAL_ERR);
  }
}

bool QueuePair::take_unfinished(Unfinished& into) {
  while (!is_idle()) {
    Post lost;
    if (!posted_.empty()) {
      lost = pop_posted();
      if (lost.done) continue;
      queues_.post_ends();
    } else {
      queues_.end_waiting();
      lost = waiting_.pop_front().post;
    }
    give_back(lost);
    if (lost.kind != Kind::kRead && lost.kind != Kind::kWrite) continue;
    --transfers_;
    queues_.end_waiting();
    into = {lost.kind == Kind::kRead ? CompletionKind::kRead : CompletionKind::kWrite, lost.token};
    return true;
  }
  return false;
}

// Failures after the first one are flushes.
void QueuePair::fail(ibv_wc_status status) {
  if (failed_) return;
  failed_ = true;
  if (client_ != nullptr)
    client_->queue_pair_failed(status == IBV_WC_WR_FLUSH_ERR ? Status() : status_of(status));
}

}  // namespace exs::verbs
