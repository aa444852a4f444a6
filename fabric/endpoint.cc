// SPDX-License-Identifier: BSD-2-Clause
#include "fabric/endpoint.h"

#include <algorithm>
#include <cstring>
#include <new>
#include <utility>

#include "base/check.h"
#include "fabric/event_queue.h"
#include "fabric/source.h"
#include "fabric/tables.h"

namespace exs::fabric {
namespace {

constexpr int kNobody = -1000;

// The pieces of a transfer, in the form of exs.
class TransferPieces {
 public:
  explicit TransferPieces(const TransferCall& transfer) noexcept : count_(static_cast<int>(transfer.count)) {
    for (std::size_t i = 0; i < transfer.count; ++i) {
      pieces_[i] = {transfer.pieces[i].iov_base, transfer.pieces[i].iov_len, EXS_MHANDLE_UNREGISTERED, 0};
      bytes_ += transfer.pieces[i].iov_len;
    }
  }
  [[nodiscard]] const exs_iovec_t* data() const noexcept { return pieces_; }
  [[nodiscard]] int count() const noexcept { return count_; }
  [[nodiscard]] std::uint64_t bytes() const noexcept { return bytes_; }

 private:
  exs_iovec_t pieces_[kPiecesMax];
  const int count_;
  std::uint64_t bytes_ = 0;
};

int exm_flags_of(const TransferCall& transfer) noexcept {
  int flags = 0;
  if ((transfer.flags & (FI_DELIVERY_COMPLETE | FI_MATCH_COMPLETE)) != 0) flags |= EXM_SYNC;
  if ((transfer.flags & FI_REMOTE_CQ_DATA) != 0) flags |= EXM_DATA;
  if ((transfer.flags & FI_INJECT) != 0) flags |= EXM_BUFFERED;
  return flags;
}

// A key belongs to an endpoint, or to all endpoints of its domain.
void read_key(const fi_info& info, exm_config_t& config) noexcept {
  const auto read = [&config](const std::uint8_t* key, std::size_t bytes) {
    if (key != nullptr && bytes == sizeof config.key) std::memcpy(config.key, key, bytes);
  };
  if (info.domain_attr != nullptr) read(info.domain_attr->auth_key, info.domain_attr->auth_key_size);
  if (info.ep_attr != nullptr) read(info.ep_attr->auth_key, info.ep_attr->auth_key_size);
}

}  // namespace

Endpoint::Endpoint(const fi_info& info, void* context)
    : Object(FI_CLASS_EP, endpoint_fid_ops, context),
      caps_(info.caps),
      send_flags_(info.tx_attr == nullptr ? 0 : info.tx_attr->op_flags),
      receive_flags_(info.rx_attr == nullptr ? 0 : info.rx_attr->op_flags) {
  fid_ep& self = *handle();
  self.ops = &endpoint_ops;
  self.cm = &name_ops;
  self.msg = &message_ops;
  self.rma = &no_rma_ops;
  self.tagged = &tagged_ops;
  self.atomic = &no_atomic_ops;
  self.collective = &no_collective_ops;
  config_.struct_bytes = sizeof config_;
  read_key(info, config_);
  if (info.src_addr == nullptr) return;
  source_.assign(static_cast<const char*>(info.src_addr),
                 strnlen(static_cast<const char*>(info.src_addr), info.src_addrlen));
  if (source_ == kAnySource) source_.clear();
}

Endpoint::~Endpoint() = default;

// ---------------------------------------------------------------- what is bound

Status Endpoint::bind(fid& other, std::uint64_t flags) {
  if (ep_ != nullptr) return Status(FI_EOPBADSTATE);
  switch (other.fclass) {
    case FI_CLASS_AV:
      if (addresses_ != nullptr) return Status(FI_EINVAL);
      addresses_ = &AddressVector::of(&other);
      return {};
    case FI_CLASS_CQ: return bind_queue(CompletionQueue::of(&other), flags);
    case FI_CLASS_CNTR: return bind_counter(Counter::of(&other), flags);
    case FI_CLASS_EQ: return {};  // an endpoint without connections has no events
    default: return Status(FI_EINVAL);
  }
}

Status Endpoint::bind_queue(CompletionQueue& queue, std::uint64_t flags) {
  constexpr std::uint64_t kFlags = FI_TRANSMIT | FI_RECV | FI_SELECTIVE_COMPLETION;
  if ((flags & ~kFlags) != 0) return Status(FI_EBADFLAGS);
  const bool is_selective = (flags & FI_SELECTIVE_COMPLETION) != 0;
  const bool is_taken = ((flags & FI_TRANSMIT) != 0 && sends_.queue != nullptr) ||
                        ((flags & FI_RECV) != 0 && receives_.queue != nullptr);
  if (is_taken || (flags & (FI_TRANSMIT | FI_RECV)) == 0) return Status(FI_EINVAL);
  for (auto& [flag, target] :
       {std::pair<std::uint64_t, CompletionTarget*>{FI_TRANSMIT, &sends_}, {FI_RECV, &receives_}}) {
    if ((flags & flag) == 0) continue;
    target->queue = &queue;
    target->is_selective = is_selective;
  }
  return {};
}

Status Endpoint::bind_counter(Counter& counter, std::uint64_t flags) {
  constexpr std::uint64_t kUnused = FI_READ | FI_WRITE | FI_REMOTE_READ | FI_REMOTE_WRITE;
  if ((flags & ~(FI_SEND | FI_RECV | kUnused)) != 0) return Status(FI_EBADFLAGS);
  if ((flags & FI_SEND) != 0) sends_.counter = &counter;
  if ((flags & FI_RECV) != 0) receives_.counter = &counter;
  return {};
}

template <typename Use>
void Endpoint::each_reaper(Use&& use) {
  for (CompletionTarget* const target : {&sends_, &receives_}) {
    if (target->queue != nullptr) use(target->queue->reaper());
    if (target->counter != nullptr) use(target->counter->reaper());
  }
}

bool Endpoint::has_enough_bound() const noexcept {
  const auto is_bound = [](const CompletionTarget& target) {
    return target.queue != nullptr || target.counter != nullptr;
  };
  return ((caps_ & FI_SEND) == 0 || is_bound(sends_)) && ((caps_ & FI_RECV) == 0 || is_bound(receives_));
}

Status Endpoint::open() {
  {
    const LockGuard guard(lock_);  // an attempt before this one may have left the numbers of its peers
    peers_.clear();
    addresses_of_peers_.clear();
  }
  const char* const source = source_.c_str();
  if (!source_.empty()) config_.addresses = &source;
  const int opened = exm_open(&config_, &ep_);
  config_.addresses = nullptr;
  if (opened == 0) exm_set_label(ep_, "exs-fi");
  return opened == 0 ? Status() : last_error();
}

Status Endpoint::join_bound() {
  try {
    Status joined = addresses_->add(*this);
    each_reaper([&](Reaper& reaper) {
      if (joined.ok()) joined = reaper.add(*this);
    });
    return joined;
  } catch (const std::bad_alloc&) {
    return Status(FI_ENOMEM);
  }
}

void Endpoint::leave_bound() noexcept {
  each_reaper([this](Reaper& reaper) { reaper.remove(*this); });
  addresses_->remove(*this);
}

Status Endpoint::enable() {
  if (ep_ != nullptr) return Status(FI_EOPBADSTATE);
  if (addresses_ == nullptr) return Status(FI_ENOAV);
  if (!has_enough_bound()) return Status(FI_ENOCQ);
  if (const Status opened = open(); !opened.ok()) return opened;
  const Status joined = join_bound();
  if (!joined.ok()) close();
  return joined;
}

void Endpoint::close() noexcept {
  if (ep_ == nullptr) return;
  leave_bound();
  // Messages that have not left within the limit are lost, without a report.
  [[maybe_unused]] const int left = exm_finalize(std::exchange(ep_, nullptr));
}

// ---------------------------------------------------------------- addresses

Status Endpoint::name(void* into, std::size_t* length) {
  if (ep_ == nullptr) return Status(FI_EOPBADSTATE);
  const std::size_t room = *length;
  if (exm_name(ep_, into, length) != 0) return last_error();
  return *length > room ? Status(FI_ETOOSMALL) : Status();
}

Status Endpoint::learn(fi_addr_t address, const Name& name) {
  int peer = kNobody;
  if (exm_peer(ep_, name.data(), name.size(), &peer) != 0) return last_error();
  EXS_CHECK(peer >= 0);
  const auto index = static_cast<std::size_t>(peer);
  const LockGuard guard(lock_);
  try {
    if (peers_.size() <= address) peers_.resize(address + 1, kNobody);
    if (addresses_of_peers_.size() <= index) addresses_of_peers_.resize(index + 1, FI_ADDR_NOTAVAIL);
  } catch (const std::bad_alloc&) {
    return Status(FI_ENOMEM);
  }
  peers_[address] = peer;
  if (addresses_of_peers_[index] == FI_ADDR_NOTAVAIL) addresses_of_peers_[index] = address;
  return {};
}

void Endpoint::forget(fi_addr_t address) noexcept {
  const LockGuard guard(lock_);
  if (address >= peers_.size() || peers_[address] == kNobody) return;
  const auto index = static_cast<std::size_t>(std::exchange(peers_[address], kNobody));
  EXS_CHECK(index < addresses_of_peers_.size());
  if (addresses_of_peers_[index] == address) addresses_of_peers_[index] = FI_ADDR_NOTAVAIL;
}

int Endpoint::peer_of(fi_addr_t address) const noexcept {
  if (address == FI_ADDR_UNSPEC) return EXM_ANY_SOURCE;
  return address < peers_.size() ? peers_[address] : kNobody;
}

int Endpoint::source_of(const TransferCall& transfer) const noexcept {
  return (caps_ & FI_DIRECTED_RECV) != 0 ? peer_of(transfer.peer) : EXM_ANY_SOURCE;
}

fi_addr_t Endpoint::address_of(int peer) const noexcept {
  const auto index = static_cast<std::size_t>(peer);
  return peer >= 0 && index < addresses_of_peers_.size() ? addresses_of_peers_[index] : FI_ADDR_NOTAVAIL;
}

// ---------------------------------------------------------------- transfers

Status Endpoint::send(const TransferCall& transfer) {
  if (transfer.count > kPiecesMax || (transfer.flags & ~(kSendFlags | FI_REMOTE_CQ_DATA)) != 0)
    return Status(FI_EINVAL);
  const TransferPieces pieces(transfer);
  if ((transfer.flags & FI_INJECT) != 0 && pieces.bytes() > kInjectBytes) return Status(FI_EMSGSIZE);
  const LockGuard guard(lock_);
  if (ep_ == nullptr) return Status(FI_EOPBADSTATE);
  const int peer = peer_of(transfer.peer);
  if (peer < 0) return Status(FI_EINVAL);
  TransferRecord& record = records_.acquire();
  record.context = transfer.context;
  record.flags = FI_SEND | transfer.kind;
  record.reports = !transfer.is_silent && sends_.reports(transfer.flags);
  if (exm_tsend(ep_, pieces.data(), pieces.count(), peer, transfer.match, transfer.data,
                exm_flags_of(transfer), &record, &record.request) != 0) {
    const Status error = last_error();
    records_.release(record);
    return error;
  }
  if (record.request != 0) return {};
  exm_completion_t end{};
  end.match = transfer.match;
  end.length = pieces.bytes();
  complete(record, end);
  return {};
}

Status Endpoint::receive(const TransferCall& transfer) {
  if (transfer.count > kPiecesMax || (transfer.flags & ~kReceiveFlags) != 0) return Status(FI_EINVAL);
  const bool is_multi = (transfer.flags & FI_MULTI_RECV) != 0;
  if (is_multi && ((caps_ & FI_MULTI_RECV) == 0 || transfer.count != 1)) return Status(FI_EINVAL);
  const TransferPieces pieces(transfer);
  const LockGuard guard(lock_);
  if (ep_ == nullptr) return Status(FI_EOPBADSTATE);
  const int source = source_of(transfer);
  if (source == kNobody) return Status(FI_EINVAL);
  TransferRecord& record = records_.acquire();
  record.context = transfer.context;
  record.flags = FI_RECV | transfer.kind;
  record.room = pieces.bytes();
  // Only completions report where each message lies, and when the buffer returns to the application.
  record.reports = receives_.reports(is_multi ? transfer.flags | FI_COMPLETION : transfer.flags);
  record.is_multi = is_multi;
  if (is_multi) {
    record.at = static_cast<std::byte*>(transfer.pieces[0].iov_base);
    record.peer = source;
    record.min_room = std::max<std::size_t>(multi_receive_min_, 1);
  }
  if (exm_trecv(ep_, pieces.data(), pieces.count(), source, transfer.match, transfer.ignore, &record,
                &record.request) == 0)
    return {};
  const Status error = last_error();
  records_.release(record);
  return error;
}

Status Endpoint::cancel(void* context) {
  const LockGuard guard(lock_);
  if (ep_ == nullptr) return Status(FI_EOPBADSTATE);
  TransferRecord* const record = records_.find(
      [context](const TransferRecord& one) { return one.context == context && (one.flags & FI_RECV) != 0; });
  if (record == nullptr) return Status(FI_ENOENT);
  record->is_cancelled = true;
  // A request that has completed meanwhile is invalid here, and was not cancelled. A buffer of several receives then returns with it.
  [[maybe_unused]] const int outcome = exm_cancel(ep_, record->request);
  return {};
}

// ---------------------------------------------------------------- messages that are there

Status Endpoint::probe(const TransferCall& transfer) {
  constexpr std::uint64_t kFlags = FI_PEEK | FI_CLAIM | FI_DISCARD | kReceiveFlags;
  if ((transfer.flags & ~kFlags) != 0 || transfer.count > kPiecesMax) return Status(FI_EINVAL);
  const LockGuard guard(lock_);
  if (ep_ == nullptr) return Status(FI_EOPBADSTATE);
  return (transfer.flags & FI_PEEK) != 0 ? peek(transfer) : receive_claimed(transfer);
}

// What needs memory comes before the message is taken from the others.
Status Endpoint::peek(const TransferCall& transfer) {
  const int source = source_of(transfer);
  if (source == kNobody || receives_.queue == nullptr) return Status(FI_EINVAL);
  exm_completion_t found{};
  const int outcome = exm_tprobe(ep_, source, transfer.match, transfer.ignore, nullptr, &found);
  if (outcome < 0) return last_error();
  TransferState state;
  state.context = transfer.context;
  state.flags = FI_RECV | transfer.kind;
  state.reports = true;
  state.room = UINT64_MAX;
  if (outcome == 0) {
    found.error = FI_ENOMSG;
    found.match = transfer.match;
  } else if ((transfer.flags & FI_DISCARD) != 0) {
    return discard_found(transfer, source);
  } else if ((transfer.flags & FI_CLAIM) != 0) {
    return claim_found(transfer, source, state, found);
  }
  report(CompletionTarget{receives_.queue, nullptr, false}, state, found);
  return {};
}

// Nothing else can take the message meanwhile: that needs the endpoint's lock.
Status Endpoint::claim_found(const TransferCall& transfer, int source, const TransferState& state,
                             const exm_completion_t& found) {
  CompletionQueue& queue = *receives_.queue;
  const auto claimed = claimed_.try_emplace(transfer.context).first;
  try {
    queue.reserve();
  } catch (const std::bad_alloc&) {
    claimed_.erase(claimed);
    throw;
  }
  if (exm_tprobe(ep_, source, transfer.match, transfer.ignore, &claimed->second, nullptr) < 0) {
    const Status error = last_error();
    claimed_.erase(claimed);
    queue.unreserve();
    return error;
  }
  EXS_CHECK(claimed->second != 0);
  queue.add_reserved(entry_of(state, found), address_of(found.peer));
  return {};
}

Status Endpoint::discard_found(const TransferCall& transfer, int source) {
  records_.make_ready();
  exm_message_t message = 0;
  if (exm_tprobe(ep_, source, transfer.match, transfer.ignore, &message, nullptr) < 0) return last_error();
  EXS_CHECK(message != 0);
  return receive_message(transfer, message);
}

// Receives a message that a peek has claimed for this context.
Status Endpoint::receive_claimed(const TransferCall& transfer) {
  const auto claimed = claimed_.find(transfer.context);
  if ((transfer.flags & FI_CLAIM) == 0 || claimed == claimed_.end()) return Status(FI_EINVAL);
  const Status received = receive_message(transfer, claimed->second);
  if (received.ok()) claimed_.erase(claimed);
  return received;
}

Status Endpoint::receive_message(const TransferCall& transfer, exm_message_t message) {
  const bool is_dropped = (transfer.flags & FI_DISCARD) != 0;
  const TransferPieces pieces(is_dropped ? TransferCall{} : transfer);
  TransferRecord& record = records_.acquire();
  record.context = transfer.context;
  record.flags = FI_RECV | transfer.kind;
  record.room = pieces.bytes();
  record.is_dropped = is_dropped;
  record.reports = receives_.reports(transfer.flags);
  if (exm_tmrecv(ep_, pieces.data(), pieces.count(), &message, &record, &record.request) == 0) return {};
  const Status error = last_error();
  records_.release(record);
  return error;
}

int open_endpoint(fid_domain* /*domain*/, fi_info* info, fid_ep** ep, void* context) {
  return guarded([&]() -> int {
    if (info->ep_attr != nullptr && info->ep_attr->type != FI_EP_RDM && info->ep_attr->type != FI_EP_UNSPEC)
      return -FI_EINVAL;
    *ep = (new Endpoint(*info, context))->handle();
    return 0;
  });
}

}  // namespace exs::fabric
