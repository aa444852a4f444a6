// The provider interface: verbs semantics, as small as the protocol needs. A provider implements all of
// Provider, Port and Link. Optional abilities are roles of their own, which the object hands out, or null:
// Port::connector() and Provider::own_listening() (connector.h), Port::upgrade() and the two upgradable()
// (upgrade.h), Port::single_issuer().
//
// Common preconditions and promises
//  1. Methods of ports, listeners and links are called by one thread at a time: the holder of the shard's
//     drive lock. Provider methods may be called by any thread.
//  2. Nothing here blocks and nothing calls back but a MessageTaker: results come only out of Port::poll.
//  3. Each post_* is all or nothing. On success exactly one Completion with its token follows, also after
//     close() (then ECANCELED); until then the memory must stay registered, and unchanged for sends and
//     writes. On error nothing was posted. Posts of one link complete in post order within a kind; receives
//     complete in the order of the messages.
//  4. The link is reliable and ordered: a message posted after a write arrives after its bytes.
//  5. Bytes from a peer can only end a link (kDisconnected), never the process.
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>

#include "base/guarded_copy.h"
#include "base/status.h"
#include "src/provider/company.h"
#include "src/provider/reason.h"

namespace exs {

// Values are bits of a set on the wire (FORMAT.md).
enum class ProviderId : std::uint8_t { kIwarp = 0, kShm = 1, kVerbs = 2, kSim = 3 };
inline constexpr std::size_t kProviderIds = 4;

// The rights of a peer on exposed memory; a bit set.
enum class Access : std::uint8_t { kLocal = 0, kRemoteRead = 1, kRemoteWrite = 2, kRemoteReadWrite = 3 };

// Names registered memory in this process, the same to every provider. 0: memory of the library's own.
struct MemoryKey {
  std::uint32_t value = 0;
};

// Our memory, as a post names it. Lies inside the region that `key` came from.
struct LocalSlice {
  std::byte* address = nullptr;
  std::size_t length_bytes = 0;
  MemoryKey key;
};

// A window into the peer's memory: address and key are what the peer's expose() returned and mean nothing
// to us; address + n names byte n of the window.
struct RemoteSlice {
  std::uint64_t address = 0;
  std::uint64_t length_bytes = 0;
  std::uint32_t key = 0;
};

// Depths a link is made with. The protocol never exceeds them, so EAGAIN from a post is a bug of ours.
struct LinkDepths {
  std::uint32_t sends = 0;          // post_send outstanding
  std::uint32_t receives = 0;       // post_recv outstanding
  std::uint32_t reads_out = 0;      // ORD: post_read we may have outstanding
  std::uint32_t reads_in = 0;       // IRD: reads of the peer we serve at once
  std::uint32_t message_bytes = 0;  // longest post_send of either end
};

// The two processes that return from a fork.
enum class ForkSide : std::uint8_t { kParent, kChild };

enum class CompletionKind : std::uint8_t {
  kSend,          // post_send: the message has left (its memory is free)
  kReceive,       // post_recv: a message of length_bytes arrived
  kRead,          // post_read: the data are in our memory
  kWrite,         // post_write: the data have left (the memory is free)
  kEstablished,   // connect(): the peer accepted; accept(): the reply has left. private_data() is the peer's
  kDisconnected,  // last completion of a link: status ok for an orderly end of the peer's stream, else why
  kRequest,       // listener: next_request() has one more
  kReadiness,     // a watched descriptor: length_bytes is the set of epoll events that came
  kUpgradeReady,  // ConnectionUpgrade::begin(): ok: adopt() may follow; else PendingUpgrade::why_not() tells
};

struct Completion {
  CompletionKind kind = CompletionKind::kSend;
  Status status;
  std::uint32_t length_bytes = 0;  // kReceive, kReadiness
  std::uint64_t link = 0;          // the link, listener or watch token given at the start
  std::uint64_t token = 0;         // of the post; 0 for the last five kinds
};

// Memory of the peer that lies in this process, too.
struct SharedMemory {
  std::span<std::byte> bytes;
  std::shared_ptr<const void>
      mapping;  // they stay mapped while it lives, whatever becomes of the link and the peer
};

class Connector;
class ConnectionUpgrade;
class OwnListening;
class SingleIssuer;
class UpgradableLink;

// How far a connect has come, or had come when it failed.
enum class ConnectStage : std::uint8_t {
  kReaching,  // nobody has answered
  kAsked,     // the peer's host has; what it was asked is on the way, or there
  kReceived,  // the peer has what it was asked, and has not decided
};

// A message of the peer, during MessageTaker::take(), in one piece of memory or in two. It may lie where the peer still can write: only
// what was copied is looked at.
class ArrivingMessage {
 public:
  explicit ArrivingMessage(std::span<const std::byte> first, std::span<const std::byte> rest = {})
      : first_(first), rest_(rest) {}
  ArrivingMessage(const ArrivingMessage&) = delete;
  ArrivingMessage& operator=(const ArrivingMessage&) = delete;
  [[nodiscard]] std::size_t length_bytes() const noexcept { return first_.size() + rest_.size(); }
  // Its first bytes, to be copied from there. Fewer only where it is shorter, or lies in two pieces.
  [[nodiscard]] std::span<const std::byte> first_piece() const noexcept { return first_; }
  // The bytes from `offset` on, which are there. Throws MemoryGone where `into` is not.
  void copy(std::size_t offset, std::span<std::byte> into) const {
    if (into.size() > first_.size() - std::min(offset, first_.size())) return copy_of_both(offset, into);
    if (!into.empty()) copy_of_program(into.data(), first_.data() + offset, into.size());
  }

 private:
  void copy_of_both(std::size_t offset, std::span<std::byte> into) const {
    const std::size_t here = std::min(first_.size() - std::min(offset, first_.size()), into.size());
    if (here > 0) copy_of_program(into.data(), first_.data() + offset, here);
    if (here == into.size()) return;
    copy_of_program(into.data() + here, rest_.data() + (offset + here - first_.size()), into.size() - here);
  }

  const std::span<const std::byte> first_;
  const std::span<const std::byte> rest_;
};

// Takes messages of a link where they arrive, so that they are copied once. Thread: shard.
class MessageTaker {
 public:
  // Called from Port::progress() and poll_memory() alone, while no completion of the link waits for Port::poll. True: the
  // message uses up no posted receive, and no completion follows. False: nothing has changed, and the message arrives
  // as ever. May post to the link and close it.
  virtual bool take(const ArrivingMessage& message) = 0;

 protected:
  ~MessageTaker() = default;
};

// One reliable ordered connection.
class Link {
 public:
  virtual ~Link() = default;  // Any time after close(): completions not yet polled are dropped.

  // Sends `header` (copied) followed by `payload` (by reference until the completion; may be empty) as one
  // message. Consumes one of the peer's posted receives. EAGAIN: depth. ENOTCONN: closed. EMSGSIZE.
  virtual Status post_send(std::span<const std::byte> header, LocalSlice payload, std::uint64_t token) = 0;
  // Like post_send(), for a message without a waiter: it may wait for others, until Port::flush() at the
  // latest.
  virtual Status post_send_at_leisure(std::span<const std::byte> header, std::uint64_t token) {
    return post_send(header, {}, token);
  }
  // Like post_send(), for a message that leaves at once. On return its memory is free, and no completion
  // follows. EAGAIN: not possible now. post_send() may report any error again. Throws nothing: the operation
  // is nobody's yet, so nobody would end it.
  virtual Status send_now(std::span<const std::byte> /*header*/, LocalSlice /*payload*/) noexcept {
    return Status(EAGAIN);
  }
  // Like send_now() and Port::flush(), for one short message in the fewest steps. False: not possible now; any error is reported by
  // the posts.
  virtual bool send_short(std::span<const std::byte> /*header*/, LocalSlice /*payload*/) noexcept {
    return false;
  }
  // Many posts that are flushed together cost less than separate ones.
  [[nodiscard]] virtual bool gains_by_company() const noexcept { return false; }
  // send_short() may succeed at some time.
  [[nodiscard]] virtual bool sends_short() const noexcept { return false; }
  // Messages may be shown to `taker` first from now on. `taker` outlives close().
  virtual void show_messages_to(MessageTaker& /*taker*/) {}
  // Offers memory for one message, of any length that may come: which posted receive takes the next one is
  // the provider's choice.
  virtual Status post_recv(LocalSlice into, std::uint64_t token) = 0;
  // So many receives more than LinkDepths::receives may be posted at a time from now on. False: they may not.
  [[nodiscard]] virtual bool grow_receives(std::uint32_t /*more*/) noexcept { return false; }
  // Reads into.length_bytes from the start of `from`. At most LinkDepths::reads_out may be outstanding.
  virtual Status post_read(LocalSlice into, RemoteSlice from, std::uint64_t token) = 0;
  virtual Status post_write(LocalSlice from, RemoteSlice to, std::uint64_t token) = 0;
  // Like post_read(), for memory that can be read at this moment. On return the bytes are there, and no
  // completion follows. EAGAIN: not possible now, and part of `into` may have been written. post_read() may
  // report any error again. Throws nothing.
  virtual Status read_now(LocalSlice /*into*/, RemoteSlice /*from*/) noexcept { return Status(EAGAIN); }
  // read_now() may succeed at some time.
  [[nodiscard]] virtual bool reads_now() const noexcept { return false; }

  // The way to the peer and back, without what waits on it. 0: no time that counts, or not known.
  [[nodiscard]] virtual std::uint64_t round_trip_ns() const noexcept { return 0; }
  // post_read() needs registered memory. Otherwise memory of any key is accepted.
  [[nodiscard]] virtual bool needs_registered_memory() const noexcept { return false; }

  // The peer's window as memory of this process. EOPNOTSUPP: it cannot be had.
  virtual Result<SharedMemory> map(RemoteSlice /*window*/) { return failure(EOPNOTSUPP); }

  // Opens a window on our memory for this peer alone, in this direction and range alone.
  virtual Result<RemoteSlice> expose(LocalSlice memory, Access access) = 0;
  // Shuts the window. After success the provider no longer touches the memory. Ok for those of a link that is over: its end shut them.
  // EBUSY: the peer is being served from it this moment (it asked, then broke the protocol by releasing it).
  virtual Status withdraw(std::uint32_t key) = 0;

  // The bytes that the peer sent with its connect or accept. Valid while the link lives; empty before
  // kEstablished on the connecting side.
  [[nodiscard]] virtual std::span<const std::byte> private_data() const noexcept = 0;

  // The ends' addresses, where the connection's descriptor does not know them. False: it does.
  virtual bool addresses(sockaddr_storage& /*ours*/, sockaddr_storage& /*peers*/) const noexcept {
    return false;
  }
  // After a kDisconnected instead of a kEstablished: why this provider does not reach the peer. kNone: the
  // peer itself rejected the connection, or this is the only provider.
  [[nodiscard]] virtual Reason why_not() const noexcept { return {}; }

  [[nodiscard]] virtual ConnectStage connect_stage() const noexcept { return ConnectStage::kReaching; }

  // Null: no other provider can carry this connection.
  [[nodiscard]] virtual UpgradableLink* upgradable() noexcept { return nullptr; }

  // No new work. Outstanding posts complete with ECANCELED, windows are shut, what has left stays left. No
  // kDisconnected follows. From its return the provider touches no memory of the link's posts or windows.
  virtual void close() noexcept = 0;
};

inline constexpr std::uint64_t kNoDeadline = UINT64_MAX;

// Work that the kernel takes faster from one thread than from many. Thread: shard.
class SingleIssuer {
 public:
  // Makes the calling thread the issuer. Other threads may still do the work, more slowly.
  virtual void bind_thread() = 0;

 protected:
  ~SingleIssuer() = default;
};

// A shard's source of completions. Times are CLOCK_MONOTONIC nanoseconds, given by the caller.
class Port {
 public:
  virtual ~Port() = default;  // after its links, listeners

  // The roles of this port. Null: it has not got that one.
  [[nodiscard]] virtual Connector* connector() noexcept { return nullptr; }
  [[nodiscard]] virtual ConnectionUpgrade* upgrade() noexcept { return nullptr; }
  [[nodiscard]] virtual SingleIssuer* single_issuer() noexcept { return nullptr; }

  // A limitation of this port on this machine, for `index` 0, 1, ...; false: there are no more.
  virtual bool limitation(std::size_t /*index*/, Reason& /*limit*/) const { return false; }

  // Called once, before the first link. Without it no message waits for others.
  virtual void expect_company(Company& /*company*/) {}
  // Starts what was posted since the last flush, in few system calls.
  virtual void flush() = 0;
  // Looks at the network: takes arrivals in, continues delayed work, ends what is overdue.
  virtual void progress(std::uint64_t now_ns) = 0;
  // Takes in what arrived as far as that needs neither the time nor a system call. `rang`: wait_fd() is
  // readable, which is worth one system call if that may be all it takes. False: it rang for something that
  // only progress() finds.
  virtual bool poll_memory(bool rang) { return !rang; }
  // How often has_news() may be called in a row before other work has waited too long, some microseconds at most. 0: it tells nothing.
  [[nodiscard]] virtual unsigned looks_in_a_row() const noexcept { return 0; }
  // take_news() would find something to do. The cheapest look there is, at what showed something last.
  [[nodiscard]] virtual bool has_news() noexcept { return true; }
  // Takes in what has_news() told of, but may stop as soon as `enough`, which a MessageTaker sets: what comes next may still be on its
  // way between two processors, and to look for it would cost what a message costs. False: see poll_memory().
  virtual bool take_news(const bool& /*enough*/) { return poll_memory(false); }
  // Goes up whenever progress() or poll_memory() took in something of a peer, also what produced no
  // completion (a served read).
  [[nodiscard]] virtual std::uint64_t arrivals() const noexcept = 0;
  // Takes completions that progress(), poll_memory() or flush() produced; returns how many were written.
  virtual std::size_t poll(std::span<Completion> out) = 0;
  // poll() would take some, as far as is known without a flush.
  [[nodiscard]] virtual bool has_completions() const noexcept { return true; }
  // Both in one call, because every step ends with them; but what waits for company and has none goes on waiting.
  virtual std::size_t flush_and_poll(std::span<Completion> out) {
    flush();
    return poll(out);
  }

  // The time at which progress() has work even without arrivals.
  [[nodiscard]] virtual std::uint64_t next_deadline_ns() const noexcept = 0;
  // Readable (level-triggered) while progress() would find work. Completions already produced do not count:
  // poll() until empty before sleeping.
  [[nodiscard]] virtual int wait_fd() const noexcept = 0;
  // The caller is about to sleep on wait_fd(): from now on peers ring for writes that the port cannot see.
  // False: there is work already, so look again instead; poll() may have completions.
  virtual bool arm() { return true; }
  // A thread looks again: peers need not ring.
  virtual void disarm() {}
};

// Process-wide, and as long-lived once it has opened a port: a destroyed port may leave work behind.
class Provider {
 public:
  virtual ~Provider() = default;
  [[nodiscard]] virtual ProviderId id() const noexcept = 0;
  [[nodiscard]] virtual std::string_view name() const noexcept = 0;
  // `region` stays mapped until deregister_memory. `shared_fd`: the memfd that the region maps from its
  // start, to be duplicated for longer use; -1: the application's own memory.
  virtual Status register_memory(MemoryKey key, std::span<std::byte> region, Access access,
                                 int shared_fd) = 0;
  virtual void deregister_memory(MemoryKey key) noexcept = 0;
  // Null: it has no listeners of its own.
  [[nodiscard]] virtual OwnListening* own_listening() noexcept { return nullptr; }
  // On failure, `why_not` has the reason.
  virtual Result<std::unique_ptr<Port>> open_port(Reason& why_not) = 0;
  // Holds its locks until after_fork(), which parent and child call: the child inherits none that is held by a thread
  // which it has not. Of what the parent shares with others the child keeps nothing that it could change.
  virtual void before_fork() noexcept {}
  virtual void after_fork(ForkSide) noexcept {}
};

}  // namespace exs
