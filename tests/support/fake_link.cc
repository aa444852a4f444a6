// SPDX-License-Identifier: BSD-2-Clause
#include "tests/support/fake_link.h"

#include <algorithm>
#include <cstring>

namespace exs::test {
void FakeLink::join(FakeLink& one, FakeLink& other) {
  one.peer_ = &other;
  other.peer_ = &one;
}

Status FakeLink::admit() {
  ++calls_;
  if (fail_in_ > 0 && --fail_in_ == 0) {
    if (fail_error_ == ENOTCONN) {
      break_off(Status(ECONNRESET));
      peer_->peer_closed_ = true;  // the peer notices when the test delivers the end
    }
    return Status(fail_error_);
  }
  return state_ == State::kOpen ? Status() : Status(ENOTCONN);
}

void FakeLink::complete(CompletionKind kind, Status status, std::uint64_t token, std::uint32_t length_bytes) {
  Completion completion;
  completion.kind = kind;
  completion.status = status;
  completion.token = token;
  completion.length_bytes = length_bytes;
  completions_.push_back(completion);
}

Status FakeLink::post_send(std::span<const std::byte> header, LocalSlice payload, std::uint64_t token) {
  const InLinks links;
  if (const Status status = admit(); !status.ok()) return status;
  if (messages_out_ == depths_.sends) violate("more sends than the depth");
  ++messages_out_;
  sends_.push_back({put_under_way(header, payload), payload, token, ++sends_posted_, false});
  return {};
}

// Earlier posts must have left.
Status FakeLink::send_now(std::span<const std::byte> header, LocalSlice payload) noexcept {
  const InLinks links;
  if (!sends_now_ || state_ != State::kOpen || !sends_.empty()) return Status(EAGAIN);
  ++sends_posted_;
  put_under_way(header, payload);
  return {};
}

// Returns the payload as it is now.
Bytes FakeLink::put_under_way(std::span<const std::byte> header, LocalSlice payload) {
  Bytes copy;
  if (payload.length_bytes > 0) copy.assign(payload.address, payload.address + payload.length_bytes);
  Bytes message(header.begin(), header.end());
  message.insert(message.end(), copy.begin(), copy.end());
  sent_.push_back(message);
  if (peer_->state_ == State::kOpen && !peer_closed_) peer_->inject(std::move(message));
  return copy;
}

Status FakeLink::post_recv(LocalSlice into, std::uint64_t token) {
  const InLinks links;
  if (const Status status = admit(); !status.ok()) return status;
  if (receives_.size() == depths_.receives) violate("more receives than the depth");
  receives_.push_back({into, token});
  return {};
}

Status FakeLink::post_read(LocalSlice into, RemoteSlice from, std::uint64_t token) {
  const InLinks links;
  if (const Status status = admit(); !status.ok()) return status;
  if (reads_.size() == depths_.reads_out) violate("more reads than the depth");
  if (into.length_bytes == 0 || into.length_bytes != from.length_bytes) violate("read of an odd length");
  reads_.push_back({into, from, token, false});
  return {};
}

// Earlier posts must be done.
Status FakeLink::read_now(LocalSlice into, RemoteSlice from) noexcept {
  if (!reads_now_ || state_ != State::kOpen || peer_->state_ != State::kOpen || !reads_.empty())
    return Status(EAGAIN);
  if (into.length_bytes == 0 || into.length_bytes != from.length_bytes) return Status(EAGAIN);
  const Window* window = peer_->window_for(from, Access::kRemoteRead);
  if (window == nullptr) {
    violate("read outside every window");
    return Status(EAGAIN);
  }
  std::memcpy(into.address, window->memory.address + (from.address - window->address), into.length_bytes);
  return {};
}

Status FakeLink::post_write(LocalSlice from, RemoteSlice to, std::uint64_t token) {
  const InLinks links;
  if (const Status status = admit(); !status.ok()) return status;
  if (from.length_bytes == 0 || from.length_bytes != to.length_bytes) violate("write of an odd length");
  const Bytes copy(from.address, from.address + from.length_bytes);
  sends_.push_back({copy, from, token, ++sends_posted_, true});
  if (peer_->state_ == State::kOpen && !peer_closed_) peer_->incoming_.push_back({copy, to, true});
  return {};
}

// The peer must not interpret addresses and keys, so they are not pointers here.
Result<RemoteSlice> FakeLink::expose(LocalSlice memory, Access access) {
  const InLinks links;
  if (const Status status = admit(); !status.ok()) return failure(status);
  if (memory.length_bytes == 0) return failure(EINVAL);
  if (windows_.size() >= windows_most_) return failure(ENOSPC);
  const std::uint32_t key = next_key_++;
  const std::uint64_t address = std::uint64_t{key} << 32 | 0x11;
  windows_[key] = {memory, address, access, 0};
  return RemoteSlice{address, memory.length_bytes, key};
}

Status FakeLink::withdraw(std::uint32_t key) {
  if (const Status status = admit(); !status.ok()) return status;
  const auto found = windows_.find(key);
  if (found == windows_.end()) {
    violate("withdrawal of a window that is not open");
    return Status(ENOENT);
  }
  if (found->second.readers > 0) return Status(EBUSY);
  windows_.erase(found);
  return {};
}

// Sends that have completed still arrive; the others never do.
void FakeLink::close() noexcept {
  const InLinks links;
  if (state_ == State::kClosed) return;
  const bool was_open = state_ == State::kOpen;
  state_ = State::kClosed;
  if (was_open) {
    const std::size_t unleft = std::min(sends_.size(), peer_->incoming_.size());
    for (std::size_t i = 0; i < unleft; ++i) {
      if (!peer_->incoming_.back().is_write) peer_->unpolled_.pop_back();
      peer_->incoming_.pop_back();
    }
    peer_->peer_closed_ = true;
  }
  end_posts(Status(ECANCELED));
  windows_.clear();
}

void FakeLink::end_posts(Status why) {
  for (const Send& send : sends_) {
    // A delivered message has left, whether or not its completion was reported.
    const bool left = send.number <= delivered_to_peer_;
    complete(send.is_write ? CompletionKind::kWrite : CompletionKind::kSend, left ? Status() : why,
             send.token);
  }
  for (const Receive& receive : receives_) complete(CompletionKind::kReceive, why, receive.token);
  for (const Read& read : reads_) {
    complete(CompletionKind::kRead, why, read.token);
    if (!read.begun) continue;
    if (Window* window = peer_->window_for(read.from, Access::kRemoteRead)) --window->readers;
  }
  sends_.clear();
  messages_out_ = 0;
  receives_.clear();
  reads_.clear();
}

bool FakeLink::deliver_message() {
  const InLinks links;
  if (state_ != State::kOpen || incoming_.empty()) return false;
  const Arrival arrived = std::move(incoming_.front());
  incoming_.pop_front();
  ++peer_->delivered_to_peer_;
  if (arrived.is_write) return land(arrived);
  const Bytes& message = arrived.bytes;
  if (receives_.empty()) {
    violate("message without a posted receive");
    break_off(Status(ECONNRESET));
    return true;
  }
  if (taker_ != nullptr && completions_.empty() && is_taken(links.before(), message)) {
    unpolled_.pop_front();
    return true;
  }
  // A provider may fill any posted receive: this one takes the oldest and the newest in turn.
  const bool newest = peer_->delivered_to_peer_ % 2 == 0;
  const Receive receive = newest ? receives_.back() : receives_.front();
  newest ? receives_.pop_back() : receives_.pop_front();
  if (message.size() > receive.into.length_bytes) {
    violate("message longer than its receive");
    break_off(Status(ECONNRESET));
    return true;
  }
  if (!message.empty()) std::memcpy(receive.into.address, message.data(), message.size());
  complete(CompletionKind::kReceive, {}, receive.token, static_cast<std::uint32_t>(message.size()));
  return true;
}

bool FakeLink::is_taken(Place by, const Bytes& message) {
  const InPlace taker(by);
  return taker_->take(ArrivingMessage(message));
}

bool FakeLink::land(const Arrival& write) {
  const Window* window = window_for(write.to, Access::kRemoteWrite);
  if (window == nullptr) {
    violate("write outside every window");
    break_off(Status(EACCES));
    return true;
  }
  std::memcpy(window->memory.address + (write.to.address - window->address), write.bytes.data(),
              write.bytes.size());
  return true;
}

bool FakeLink::finish_send() {
  const InLinks links;
  if (state_ != State::kOpen || sends_.empty()) return false;
  const Send& send = sends_.front();
  if (!std::equal(send.payload.begin(), send.payload.end(), send.memory.address)) {
    violate("memory changed under a send");
  }
  complete(send.is_write ? CompletionKind::kWrite : CompletionKind::kSend, {}, send.token);
  if (!send.is_write) --messages_out_;
  sends_.pop_front();
  return true;
}

FakeLink::Window* FakeLink::window_for(const RemoteSlice& slice, Access access) {
  const auto found = windows_.find(slice.key);
  if (found == windows_.end()) return nullptr;
  Window& window = found->second;
  if ((static_cast<unsigned>(window.access) & static_cast<unsigned>(access)) == 0) return nullptr;
  if (slice.address < window.address || slice.length_bytes > window.memory.length_bytes) return nullptr;
  if (slice.address - window.address > window.memory.length_bytes - slice.length_bytes) return nullptr;
  return &window;
}

bool FakeLink::exposes(const std::byte* memory) const {
  return std::any_of(windows_.begin(), windows_.end(),
                     [memory](const auto& entry) { return entry.second.memory.address == memory; });
}

bool FakeLink::begin_read() {
  const InLinks links;
  if (state_ != State::kOpen || peer_->state_ != State::kOpen) return false;
  const auto next = std::find_if(reads_.begin(), reads_.end(), [](const Read& read) { return !read.begun; });
  if (next == reads_.end()) return false;
  if (static_cast<std::uint32_t>(next - reads_.begin()) >= peer_->depths_.reads_in)
    violate("more reads than reads_in");
  Window* window = peer_->window_for(next->from, Access::kRemoteRead);
  if (window == nullptr) {
    violate("read outside every window");
    break_off(Status(EACCES));
    return true;
  }
  next->begun = true;
  ++window->readers;
  return true;
}

bool FakeLink::finish_read() {
  const InLinks links;
  if (state_ != State::kOpen || peer_->state_ != State::kOpen || reads_.empty() || !reads_.front().begun)
    return false;
  const Read read = reads_.front();
  reads_.pop_front();
  Window* window = peer_->window_for(read.from, Access::kRemoteRead);
  --window->readers;
  std::memcpy(read.into.address, window->memory.address + (read.from.address - window->address),
              read.into.length_bytes);
  complete(CompletionKind::kRead, {}, read.token);
  return true;
}

bool FakeLink::deliver_end() {
  if (state_ != State::kOpen || !peer_closed_ || !incoming_.empty()) return false;
  break_off({});
  return true;
}

void FakeLink::break_off(Status why) {
  const InLinks links;
  if (state_ != State::kOpen) return;
  end_posts(why.ok() ? Status(ECONNRESET)
                     : why);  // as with a provider, open posts fail even if the link ended in order
  state_ = State::kEnded;
  windows_.clear();
  incoming_.clear();
  complete(CompletionKind::kDisconnected, why, 0);
}

std::optional<Completion> FakeLink::poll() {
  if (completions_.empty()) return std::nullopt;
  const Completion completion = completions_.front();
  completions_.pop_front();
  if (completion.kind == CompletionKind::kReceive && completion.status.ok() && !unpolled_.empty()) {
    unpolled_.pop_front();
  }
  return completion;
}

void FakeLink::add_to(Fingerprint& moment) const {
  const auto add_slice = [&](const LocalSlice& slice) {
    moment.add(reinterpret_cast<std::uintptr_t>(slice.address));
    moment.add(slice.length_bytes);
  };
  moment.add(static_cast<std::uint64_t>(state_) | std::uint64_t{peer_closed_} << 8 |
             std::uint64_t{messages_out_} << 16 | std::uint64_t{next_key_} << 32);
  moment.add(delivered_to_peer_ << 32 | sends_posted_);
  if (fail_in_ > 0) moment.add(fail_in_ << 32 | static_cast<std::uint32_t>(fail_error_));
  moment.add(receives_.size());
  for (const Receive& each : receives_) add_slice(each.into), moment.add(each.token);
  moment.add(sends_.size());
  for (const Send& each : sends_) {
    moment.add(each.payload);
    add_slice(each.memory);
    moment.add(each.token);
    moment.add(each.number << 1 | (each.is_write ? 1 : 0));
  }
  moment.add(incoming_.size());
  for (const Arrival& each : incoming_) {
    moment.add(each.bytes);
    moment.add(each.to.address);
    moment.add(std::uint64_t{each.to.key} << 1 | (each.is_write ? 1 : 0));
  }
  moment.add(reads_.size());
  for (const Read& each : reads_) {
    add_slice(each.into);
    moment.add(each.from.address);
    moment.add(each.token);
    moment.add(std::uint64_t{each.from.key} << 1 | (each.begun ? 1 : 0));
  }
  moment.add(windows_.size());
  for (const auto& [key, window] : windows_) {
    add_slice(window.memory);
    moment.add(std::uint64_t{key} << 32 | window.readers << 8 | static_cast<unsigned>(window.access));
  }
  moment.add(completions_.size());
  for (const Completion& each : completions_) {
    moment.add(static_cast<std::uint64_t>(each.kind) | static_cast<std::uint64_t>(each.status.error()) << 8 |
               std::uint64_t{each.length_bytes} << 32);
    moment.add(each.token);
  }
}

}  // namespace exs::test
