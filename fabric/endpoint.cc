// SPDX-License-Identifier: BSD-2-Clause
#include "fabric/endpoint.h"

#include <algorithm>
#include <cstring>
#include <mutex>

#include "fabric/event_queue.h"
#include "fabric/source.h"
#include "fabric/tables.h"

namespace exs::fabric {
namespace {

constexpr int kNobody = -1000;
constexpr int kReapedAtOnce = 16;

// The pieces of a transfer, in the form of exs.
class Pieces {
 public:
  explicit Pieces(const Transfer& transfer) noexcept : count_(static_cast<int>(transfer.count)) {
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

int exm_flags_of(const Transfer& transfer) noexcept {
  int flags = 0;
  if ((transfer.flags & (FI_DELIVERY_COMPLETE | FI_MATCH_COMPLETE)) != 0) flags |= EXM_SYNC;
  if ((transfer.flags & FI_REMOTE_CQ_DATA) != 0) flags |= EXM_DATA;
  if ((transfer.flags & FI_INJECT) != 0) flags |= EXM_BUFFERED;
  return flags;
}

// A key belongs to an endpoint, or to all endpoints of its domain.
void take_key(const fi_info& info, exm_config_t& config) noexcept {
  const auto take = [&config](const std::uint8_t* key, std::size_t bytes) {
    if (key != nullptr && bytes == sizeof config.key) std::memcpy(config.key, key, bytes);
  };
  if (info.domain_attr != nullptr) take(info.domain_attr->auth_key, info.domain_attr->auth_key_size);
  if (info.ep_attr != nullptr) take(info.ep_attr->auth_key, info.ep_attr->auth_key_size);
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
  take_key(info, config_);
  if (info.src_addr == nullptr) return;
  source_.assign(static_cast<const char*>(info.src_addr),
                 strnlen(static_cast<const char*>(info.src_addr), info.src_addrlen));
  if (source_ == kAnySource) source_.clear();
}

Endpoint::~Endpoint() = default;

// ---------------------------------------------------------------- what is bound

int Endpoint::bind(fid& other, std::uint64_t flags) {
  if (ep_ != nullptr) return -FI_EOPBADSTATE;
  switch (other.fclass) {
    case FI_CLASS_AV:
      if (addresses_ != nullptr) return -FI_EINVAL;
      addresses_ = &AddressVector::of(&other);
      return 0;
    case FI_CLASS_CQ: return bind_queue(CompletionQueue::of(&other), flags);
    case FI_CLASS_CNTR: return bind_counter(Counter::of(&other), flags);
    case FI_CLASS_EQ: return 0;  // an endpoint without connections has no events
    default: return -FI_EINVAL;
  }
}

int Endpoint::bind_queue(CompletionQueue& queue, std::uint64_t flags) {
  constexpr std::uint64_t kFlags = FI_TRANSMIT | FI_RECV | FI_SELECTIVE_COMPLETION;
  if ((flags & ~kFlags) != 0) return -FI_EBADFLAGS;
  const bool is_selective = (flags & FI_SELECTIVE_COMPLETION) != 0;
  const bool is_taken = ((flags & FI_TRANSMIT) != 0 && sends_.queue != nullptr) ||
                        ((flags & FI_RECV) != 0 && receives_.queue != nullptr);
  if (is_taken || (flags & (FI_TRANSMIT | FI_RECV)) == 0) return -FI_EINVAL;
  for (auto& [flag, told] : {std::pair<std::uint64_t, Told*>{FI_TRANSMIT, &sends_}, {FI_RECV, &receives_}}) {
    if ((flags & flag) == 0) continue;
    told->queue = &queue;
    told->is_selective = is_selective;
  }
  return 0;
}

int Endpoint::bind_counter(Counter& counter, std::uint64_t flags) {
  constexpr std::uint64_t kUnused = FI_READ | FI_WRITE | FI_REMOTE_READ | FI_REMOTE_WRITE;
  if ((flags & ~(FI_SEND | FI_RECV | kUnused)) != 0) return -FI_EBADFLAGS;
  if ((flags & FI_SEND) != 0) sends_.counter = &counter;
  if ((flags & FI_RECV) != 0) receives_.counter = &counter;
  return 0;
}

template <typename Use>
void Endpoint::each_reaper(Use&& use) {
  for (Told* const told : {&sends_, &receives_}) {
    if (told->queue != nullptr) use(told->queue->reaper());
    if (told->counter != nullptr) use(told->counter->reaper());
  }
}

bool Endpoint::has_enough_bound() const noexcept {
  const auto is_told = [](const Told& told) { return told.queue != nullptr || told.counter != nullptr; };
  return ((caps_ & FI_SEND) == 0 || is_told(sends_)) && ((caps_ & FI_RECV) == 0 || is_told(receives_));
}

int Endpoint::enable() {
  if (ep_ != nullptr) return -FI_EOPBADSTATE;
  if (addresses_ == nullptr) return -FI_ENOAV;
  if (!has_enough_bound()) return -FI_ENOCQ;
  const char* const source = source_.c_str();
  if (!source_.empty()) config_.addresses = &source;
  const int opened = exm_open(&config_, &ep_);
  config_.addresses = nullptr;
  if (opened != 0) return last_error();
  addresses_->add(*this);
  each_reaper([this](Reaper& reaper) { reaper.add(*this); });
  return 0;
}

void Endpoint::close() {
  if (ep_ == nullptr) return;
  each_reaper([this](Reaper& reaper) { reaper.remove(*this); });
  addresses_->remove(*this);
  // Messages that have not left within the limit are lost, without a report.
  [[maybe_unused]] const int left = exm_finalize(ep_);
}

// ---------------------------------------------------------------- addresses

int Endpoint::name(void* into, std::size_t* length) {
  if (ep_ == nullptr) return -FI_EOPBADSTATE;
  const std::size_t room = *length;
  if (exm_name(ep_, into, length) != 0) return last_error();
  return *length > room ? -FI_ETOOSMALL : 0;
}

bool Endpoint::know(fi_addr_t address, const Name& name) {
  int peer = kNobody;
  if (exm_peer(ep_, name.data(), name.size(), &peer) != 0) return false;
  const std::lock_guard guard(lock_);
  if (peers_.size() <= address) peers_.resize(address + 1, kNobody);
  peers_[address] = peer;
  const auto place = static_cast<std::size_t>(peer);
  if (addresses_of_peers_.size() <= place) addresses_of_peers_.resize(place + 1, FI_ADDR_NOTAVAIL);
  if (addresses_of_peers_[place] == FI_ADDR_NOTAVAIL) addresses_of_peers_[place] = address;
  return true;
}

void Endpoint::forget(fi_addr_t address) {
  const std::lock_guard guard(lock_);
  if (address >= peers_.size() || peers_[address] == kNobody) return;
  const auto place = static_cast<std::size_t>(std::exchange(peers_[address], kNobody));
  if (addresses_of_peers_[place] == address) addresses_of_peers_[place] = FI_ADDR_NOTAVAIL;
}

int Endpoint::peer_of(fi_addr_t address) const noexcept {
  if (address == FI_ADDR_UNSPEC) return EXM_ANY_SOURCE;
  return address < peers_.size() ? peers_[address] : kNobody;
}

fi_addr_t Endpoint::address_of(int peer) const noexcept {
  const auto place = static_cast<std::size_t>(peer);
  return peer >= 0 && place < addresses_of_peers_.size() ? addresses_of_peers_[place] : FI_ADDR_NOTAVAIL;
}

// ---------------------------------------------------------------- transfers

ssize_t Endpoint::send(const Transfer& transfer) {
  if (transfer.count > kPiecesMax || (transfer.flags & ~(kSendFlags | FI_REMOTE_CQ_DATA)) != 0)
    return -FI_EINVAL;
  const Pieces pieces(transfer);
  if ((transfer.flags & FI_INJECT) != 0 && pieces.bytes() > kInjectBytes) return -FI_EMSGSIZE;
  const std::lock_guard guard(lock_);
  if (ep_ == nullptr) return -FI_EOPBADSTATE;
  const int peer = peer_of(transfer.peer);
  if (peer < 0) return -FI_EINVAL;
  Record& record = records_.take();
  record.context = transfer.context;
  record.flags = FI_SEND | transfer.kind;
  record.reports = !transfer.is_silent && sends_.reports(transfer.flags);
  if (exm_tsend(ep_, pieces.data(), pieces.count(), peer, transfer.match, transfer.data,
                exm_flags_of(transfer), &record, &record.request) != 0) {
    const int error = last_error();
    records_.give_back(record);
    return error;
  }
  if (record.request != 0) return 0;
  exm_completion_t end{};
  end.match = transfer.match;
  end.length = pieces.bytes();
  tell(sends_, record, end);
  records_.give_back(record);
  return 0;
}

ssize_t Endpoint::receive(const Transfer& transfer) {
  if (transfer.count > kPiecesMax || (transfer.flags & ~kReceiveFlags) != 0) return -FI_EINVAL;
  const bool is_multi = (transfer.flags & FI_MULTI_RECV) != 0;
  if (is_multi && ((caps_ & FI_MULTI_RECV) == 0 || transfer.count != 1)) return -FI_EINVAL;
  const Pieces pieces(transfer);
  const std::lock_guard guard(lock_);
  if (ep_ == nullptr) return -FI_EOPBADSTATE;
  const int peer = (caps_ & FI_DIRECTED_RECV) != 0 ? peer_of(transfer.peer) : EXM_ANY_SOURCE;
  if (peer == kNobody) return -FI_EINVAL;
  Record& record = records_.take();
  record.context = transfer.context;
  record.flags = FI_RECV | transfer.kind;
  record.room = pieces.bytes();
  // Only completions report where each message lies, and when the buffer returns to the application.
  record.reports = receives_.reports(is_multi ? transfer.flags | FI_COMPLETION : transfer.flags);
  record.is_multi = is_multi;
  if (is_multi) {
    record.at = static_cast<std::byte*>(transfer.pieces[0].iov_base);
    record.peer = peer;
    record.min_room = std::max<std::size_t>(multi_receive_min_, 1);
  }
  if (exm_trecv(ep_, pieces.data(), pieces.count(), peer, transfer.match, transfer.ignore, &record,
                &record.request) == 0)
    return 0;
  const int error = last_error();
  records_.give_back(record);
  return error;
}

ssize_t Endpoint::probe(const Transfer& transfer) {
  constexpr std::uint64_t kFlags = FI_PEEK | FI_CLAIM | FI_DISCARD | kReceiveFlags;
  if ((transfer.flags & ~kFlags) != 0 || transfer.count > kPiecesMax) return -FI_EINVAL;
  const std::lock_guard guard(lock_);
  if (ep_ == nullptr) return -FI_EOPBADSTATE;
  if ((transfer.flags & FI_PEEK) == 0) return claim(transfer);
  const int peer = (caps_ & FI_DIRECTED_RECV) != 0 ? peer_of(transfer.peer) : EXM_ANY_SOURCE;
  if (peer == kNobody || receives_.queue == nullptr) return -FI_EINVAL;
  const bool takes = (transfer.flags & (FI_CLAIM | FI_DISCARD)) != 0;
  exm_message_t message = 0;
  exm_completion_t found{};
  const int outcome =
      exm_tprobe(ep_, peer, transfer.match, transfer.ignore, takes ? &message : nullptr, &found);
  if (outcome < 0) return last_error();
  Record record;
  record.context = transfer.context;
  record.flags = FI_RECV | transfer.kind;
  record.reports = true;
  record.room = UINT64_MAX;
  if (outcome == 0) {
    found.error = FI_ENOMSG;
    found.match = transfer.match;
    tell(Told{receives_.queue, nullptr, false}, record, found);
    return 0;
  }
  if ((transfer.flags & FI_DISCARD) != 0) return take(transfer, message);
  if (takes) claimed_[transfer.context] = message;
  tell(Told{receives_.queue, nullptr, false}, record, found);
  return 0;
}

// Receives a message that a peek has claimed for this context.
ssize_t Endpoint::claim(const Transfer& transfer) {
  const auto claimed = claimed_.find(transfer.context);
  if ((transfer.flags & FI_CLAIM) == 0 || claimed == claimed_.end()) return -FI_EINVAL;
  const exm_message_t message = claimed->second;
  const ssize_t taken = take(transfer, message);
  if (taken == 0) claimed_.erase(claimed);
  return taken;
}

ssize_t Endpoint::take(const Transfer& transfer, exm_message_t message) {
  const bool is_dropped = (transfer.flags & FI_DISCARD) != 0;
  const Pieces pieces(is_dropped ? Transfer{} : transfer);
  Record& record = records_.take();
  record.context = transfer.context;
  record.flags = FI_RECV | transfer.kind;
  record.room = pieces.bytes();
  record.is_dropped = is_dropped;
  record.reports = receives_.reports(transfer.flags);
  if (exm_tmrecv(ep_, pieces.data(), pieces.count(), &message, &record, &record.request) == 0) return 0;
  const int error = last_error();
  records_.give_back(record);
  return error;
}

int Endpoint::cancel(void* context) {
  const std::lock_guard guard(lock_);
  if (ep_ == nullptr) return -FI_EOPBADSTATE;
  const Record* const record = records_.find(
      [context](const Record& one) { return one.context == context && (one.flags & FI_RECV) != 0; });
  if (record == nullptr) return -FI_ENOENT;
  // A request that has completed meanwhile is invalid here, and was not cancelled.
  [[maybe_unused]] const int outcome = exm_cancel(ep_, record->request);
  return 0;
}

// ---------------------------------------------------------------- ends

void Endpoint::reap() {
  exm_completion_t ends[kReapedAtOnce];
  const int count = exm_tpoll(ep_, ends, kReapedAtOnce, 0);
  if (count <= 0) return;
  const std::lock_guard guard(lock_);
  for (int i = 0; i < count; ++i) {
    auto& record = *static_cast<Record*>(ends[i].user);
    if ((record.flags & FI_RECV) != 0) {
      end_receive(record, ends[i]);
    } else {
      tell(sends_, record, ends[i]);
      records_.give_back(record);
    }
  }
}

void Endpoint::end_receive(Record& record, exm_completion_t end) {
  if (record.is_dropped && end.error == EMSGSIZE) end.error = 0;
  if (!record.is_multi) {
    tell(receives_, record, end);
    records_.give_back(record);
    return;
  }
  // The completion reports whether the buffer is returned, so the next receive is posted first.
  const Record told = record;
  const bool goes_on = receive_next(record, end);
  tell(receives_, told, end, goes_on ? 0 : FI_MULTI_RECV, told.at);
  if (!goes_on) records_.give_back(record);
}

bool Endpoint::receive_next(Record& record, const exm_completion_t& end) noexcept {
  if (end.error != 0) return false;
  record.at += end.length;
  record.room -= end.length;
  if (record.room < record.min_room) return false;
  const exs_iovec_t rest{record.at, record.room, EXS_MHANDLE_UNREGISTERED, 0};
  return exm_trecv(ep_, &rest, 1, record.peer, kUntagged, 0, &record, &record.request) == 0;
}

void Endpoint::tell(const Told& told, const Record& record, const exm_completion_t& end, std::uint64_t flags,
                    void* buffer) {
  const bool is_receive = (record.flags & FI_RECV) != 0;
  if (is_receive && (end.flags & EXM_DATA) != 0) flags |= FI_REMOTE_CQ_DATA;
  flags |= record.flags;
  const std::uint64_t tag = (record.flags & FI_TAGGED) != 0 ? end.match : 0;
  const std::uint64_t length = is_receive ? std::min(end.length, record.room) : end.length;
  if (end.error == 0) {
    if (told.counter != nullptr) told.counter->add(1);
    if (!record.reports) return;
    const fi_cq_tagged_entry entry{record.context, flags, length, buffer, end.data, tag};
    return told.queue->add(entry, is_receive ? address_of(end.peer) : FI_ADDR_NOTAVAIL);
  }
  if (told.counter != nullptr) told.counter->add_error(1);
  if (told.queue == nullptr) return;
  fi_cq_err_entry entry{};
  entry.op_context = record.context;
  entry.flags = flags;
  entry.buf = buffer;
  entry.len = length;
  entry.data = end.data;
  entry.tag = tag;
  entry.olen = end.length - length;
  entry.err = end.error == EMSGSIZE ? FI_ETRUNC : end.error;
  entry.prov_errno = end.error;
  told.queue->add_error(entry);
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
