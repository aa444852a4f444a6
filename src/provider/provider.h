// The provider interface: verbs semantics, as small as the protocol needs. Every provider implements every
// method; what differs is told by Limits, and callers branch on that, never on a name.
//
// Common preconditions and promises
//  1. Port, Listener and Link methods are called by one thread at a time: the holder of the shard's drive
//  lock.
//     Provider methods may be called by any thread.
//  2. Nothing here blocks and nothing calls back: results come only out of Port::poll.
//  3. Each post_* is all or nothing. On success exactly one Completion with its token follows, also after
//     close() (then ECANCELED); until then the memory must stay registered, and unchanged for sends and
//     writes. On error nothing was posted. Posts of one link complete in post order within a kind;
//     receives complete in the order of the messages.
//  4. The link is reliable and ordered: a message posted after a write arrives after its bytes.
//  5. Bytes from a peer can only end a link (kDisconnected), never the process.
#pragma once

#include <sys/socket.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>

#include "src/base/status.h"
#include "src/provider/reason.h"

namespace exs {

// Values are bits of a set on the wire (FORMAT.md).
enum class ProviderId : std::uint8_t { kIwarp = 0, kShm = 1, kVerbs = 2, kSim = 3 };
inline constexpr std::size_t kProviderIds = 4;

// What a peer may do to exposed memory; a bit set.
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
  std::uint32_t reads_out = 0;      // ORD: post_read we may have outstanding, at most Limits::read_depth
  std::uint32_t reads_in = 0;       // IRD: reads of the peer we serve at once, at most Limits::read_depth
  std::uint32_t message_bytes = 0;  // longest post_send of either end
};

struct Limits {
  std::uint32_t message_bytes = 0;       // longest post_send
  std::uint32_t private_data_bytes = 0;  // longest private data of a connect or accept
  std::uint32_t read_depth = 0;          // largest reads_out / reads_in
  std::uint64_t transfer_bytes = 0;      // longest single post_read or post_write
};

enum class CompletionKind : std::uint8_t {
  kSend,          // post_send: the message has left (its memory is free)
  kReceive,       // post_recv: a message of length_bytes arrived
  kRead,          // post_read: the data are in our memory
  kWrite,         // post_write: the data have left (the memory is free)
  kEstablished,   // connect(): the peer accepted; accept(): the reply has left. private_data() is the peer's
  kDisconnected,  // last completion of a link: status ok for an orderly end of the peer's stream, else why
  kRequest,       // listener: next_request() has one more
  kReadiness,     // watch(): length_bytes is the set of epoll events that came
  kMet,           // meet(): ok: take_over() may follow; else Meeting::why_not() tells
};

struct Completion {
  CompletionKind kind = CompletionKind::kSend;
  Status status;
  std::uint32_t length_bytes = 0;  // kReceive, kReadiness
  std::uint64_t link = 0;          // the link, listener or watch token given at the start
  std::uint64_t token = 0;         // of the post; 0 for the last five kinds
};

// One reliable ordered connection.
class Link {
 public:
  virtual ~Link() = default;  // Any time after close(): completions not yet polled are dropped.

  // Sends `header` (copied) followed by `payload` (by reference until the completion; may be empty) as one
  // message. Consumes one of the peer's posted receives. EAGAIN: depth. ENOTCONN: closed. EMSGSIZE.
  virtual Status post_send(std::span<const std::byte> header, LocalSlice payload, std::uint64_t token) = 0;
  // Offers memory for one message, of any length that may come: which posted receive takes the next one is
  // the provider's choice.
  virtual Status post_recv(LocalSlice into, std::uint64_t token) = 0;
  // Reads into.length_bytes from the start of `from`. At most LinkDepths::reads_out may be outstanding.
  virtual Status post_read(LocalSlice into, RemoteSlice from, std::uint64_t token) = 0;
  virtual Status post_write(LocalSlice from, RemoteSlice to, std::uint64_t token) = 0;

  // Opens a window on our memory for this peer alone, in this direction and range alone.
  virtual Result<RemoteSlice> expose(LocalSlice memory, Access access) = 0;
  // Shuts the window. After success the provider no longer touches the memory.
  // EBUSY: the peer is being served from it this moment (it asked, then broke the protocol by releasing it).
  virtual Status withdraw(std::uint32_t key) = 0;

  // What the peer sent with its connect or accept. Valid while the link lives; empty before kEstablished
  // on the connecting side.
  [[nodiscard]] virtual std::span<const std::byte> private_data() const noexcept = 0;

  // The ends' addresses, where the connection's descriptor does not know them. False: it does.
  virtual bool addresses(sockaddr_storage& /*ours*/, sockaddr_storage& /*peers*/) const noexcept {
    return false;
  }
  // After a kDisconnected instead of a kEstablished: why this provider does not reach the peer. kNone: the
  // peer itself said no, or the provider is all there is.
  [[nodiscard]] virtual Reason why_not() const noexcept { return {}; }

  // Leaves the established connection to another provider's link: nothing has been posted but receives, which
  // are forgotten; the descriptor stays open and as it is. ENOTSUP: this provider cannot.
  virtual Status release() { return Status(ENOTSUP); }

  // No new work. Outstanding posts complete with ECANCELED, windows are shut, what has left stays left. No
  // kDisconnected follows. From its return the provider touches no memory of the link's posts or windows.
  virtual void close() noexcept = 0;
};

// An incoming connection whose peer waits for an answer. Belongs to no port, so any port may accept it.
// Destroyed unanswered: rejected with empty private data.
class ConnectionRequest {
 public:
  virtual ~ConnectionRequest() = default;
  // Whose port can accept it.
  [[nodiscard]] virtual ProviderId provider() const noexcept = 0;
  // A provider may pad them with zeros.
  [[nodiscard]] virtual std::span<const std::byte> private_data() const noexcept = 0;
  // The kernel descriptor of the connection, or one that stands for it; the request closes it unless
  // release_descriptor() took it.
  [[nodiscard]] virtual int descriptor() const noexcept = 0;
  virtual int release_descriptor() noexcept = 0;
  // Both answer once, before or after release_descriptor() (then the descriptor must still be open). The peer
  // is told no, with the reason in `private_data`.
  virtual void reject(std::span<const std::byte> private_data) noexcept = 0;
  // The peer is told yes; another provider's link carries the connection.
  virtual Status grant(std::span<const std::byte> /*private_data*/) { return Status(ENOTSUP); }
  [[nodiscard]] virtual bool peer_is_gone() const noexcept = 0;
};

// One end's part in finding out whether both ends can leave the network for a provider that has no connection
// set-up of its own. Destroy to give up.
class Meeting {
 public:
  virtual ~Meeting() = default;
  // Of an invitation: what the peer must be told. Valid while the meeting lives.
  [[nodiscard]] virtual std::span<const std::byte> words() const noexcept = 0;
  // After a kMet that failed; after one that did not, what limits the connection, if anything does.
  [[nodiscard]] virtual const Reason& why_not() const noexcept = 0;
};

// What listens for peers of a provider that does not use the listening descriptor itself. They wait in it
// until a port takes it. Destroy to stop listening. Thread: the owner's.
class Listening {
 public:
  virtual ~Listening() = default;
  // The descriptor's own TCP port is taken by it: peers of the network come here, too.
  [[nodiscard]] virtual bool holds_tcp_port() const noexcept = 0;
};

// Incoming connections on one listening descriptor. Destroy to stop listening (the descriptor stays open).
class Listener {
 public:
  virtual ~Listener() = default;
  // The oldest complete request, or nullptr.
  virtual std::unique_ptr<ConnectionRequest> next_request() = 0;
};

struct ConnectParameters {
  std::span<const std::byte> private_data;  // copied
  LinkDepths depths;
};

struct ListenParameters {
  std::uint32_t backlog = 0;             // requests waiting or in handshake; further peers wait in the kernel
  std::uint64_t handshake_limit_ns = 0;  // from TCP accept to complete request
  Listening* listening = nullptr;        // the provider's own, outlives the listener
};

inline constexpr std::uint64_t kNoDeadline = UINT64_MAX;

// A shard's source of completions. Times are CLOCK_MONOTONIC nanoseconds, given by the caller.
class Port {
 public:
  virtual ~Port() = default;  // after its links, listeners

  // Whether a connect() to this peer is worth a try; else why not. Asks no peer and takes microseconds.
  virtual bool may_reach(const sockaddr* /*peer*/, Reason& /*why_not*/) { return true; }
  // `descriptor`: a TCP socket of the caller, not yet connected, made non-blocking here; borrowed until the
  // link is destroyed. A provider that has no use for it takes from it the address to connect from, if it is
  // bound. kEstablished or kDisconnected follows (ECONNREFUSED: rejected, see private_data()).
  // The caller keeps the time limit: it closes the link when it has waited long enough.
  virtual Result<std::unique_ptr<Link>> connect(int descriptor, const sockaddr* peer, socklen_t peer_bytes,
                                                const ConnectParameters& parameters,
                                                std::uint64_t link_token) = 0;
  // `descriptor`: a listening TCP socket of the caller, or what Provider::start_listening was given;
  // borrowed.
  virtual Result<std::unique_ptr<Listener>> listen(int descriptor, const ListenParameters& parameters,
                                                   std::uint64_t listener_token) = 0;
  // Takes the request's descriptor, borrowed from the caller who must have called release_descriptor().
  // The reply leaves no earlier than the next flush(): receives posted before that are in place in time.
  virtual Result<std::unique_ptr<Link>> accept(std::unique_ptr<ConnectionRequest> request, int descriptor,
                                               const ConnectParameters& parameters,
                                               std::uint64_t link_token) = 0;

  // The initiator's side of a meeting: its words() go to the peer while another provider sets up the
  // connection. Where it cannot be had, `why_not` tells.
  virtual Result<std::unique_ptr<Meeting>> invite(Reason& why_not) {
    why_not = Reason::make(ReasonCode::kFailed, "this provider has no meetings");
    return failure(ENOTSUP);
  }
  // The responder's side: `words` are the peer's. kMet follows with `meeting_token` as its link, within a
  // second.
  virtual Result<std::unique_ptr<Meeting>> meet(std::span<const std::byte> /*words*/,
                                                std::uint64_t /*meeting_token*/) {
    return failure(ENOTSUP);
  }
  // The link of a meeting: the responder's after its kMet, the initiator's when its peer says that they have
  // met. Established at once. `descriptor`: the connection's, borrowed until the link is destroyed; its end
  // is the link's end. `parameters.private_data` is the peer's. ECONNRESET: they have not met, or the peer is
  // gone.
  virtual Result<std::unique_ptr<Link>> take_over(std::unique_ptr<Meeting> /*meeting*/, int /*descriptor*/,
                                                  const ConnectParameters& /*parameters*/,
                                                  std::uint64_t /*link_token*/) {
    return failure(ENOTSUP);
  }
  // What keeps this port from being all it could be on this machine, for `index` 0, 1, ...; false: no more.
  virtual bool limitation(std::size_t /*index*/, Reason& /*limit*/) const { return false; }

  // Watches a descriptor that no link or listener uses, once: as soon as any of `events` (EPOLL*), an error
  // or a hang-up is there, a kReadiness completion follows, then nothing until the next watch(), which also
  // may change the events. The descriptor is the caller's, who may close it, and use its number again, at any
  // time: a completion for a socket that is gone may still come, or may not.
  virtual Status watch(int descriptor, std::uint32_t events, std::uint64_t watch_token) = 0;
  // `descriptor` still is what was given to watch().
  virtual void unwatch(int descriptor) = 0;
  // Accepts on a listening socket of the caller without waiting, whatever its blocking mode. The descriptor
  // is the caller's to close. EAGAIN: nobody is there.
  virtual Result<int> accept_plain(int descriptor) = 0;

  // Starts what was posted since the last flush, in few system calls.
  virtual void flush() = 0;
  // Looks at the network: takes in what arrived, goes on with what was held up, ends what is overdue.
  virtual void progress(std::uint64_t now_ns) = 0;
  // Takes in what arrived as far as that needs neither the time nor a system call. `rang`: wait_fd() is
  // readable, which is worth one system call if that may be all it takes. False: it rang for something that
  // only progress() finds.
  virtual bool glance(bool rang) { return !rang; }
  // Goes up whenever progress() or glance() took in something of a peer, also what produced no completion (a
  // served read).
  [[nodiscard]] virtual std::uint64_t arrivals() const noexcept = 0;
  // Takes completions that progress(), glance() or flush() produced; returns how many were written.
  virtual std::size_t poll(std::span<Completion> out) = 0;

  // When progress() has something to do even if nothing arrives.
  [[nodiscard]] virtual std::uint64_t next_deadline_ns() const noexcept = 0;
  // Readable (level-triggered) while progress() would find work. Completions already produced do not count:
  // poll() until empty before sleeping.
  [[nodiscard]] virtual int wait_fd() const noexcept = 0;
  // The caller is about to sleep on wait_fd(): from now on peers ring who write where it cannot see. False:
  // there is work already, look again instead of sleeping; poll() may have completions.
  virtual bool arm() { return true; }
  // Somebody looks again: peers need not ring.
  virtual void disarm() {}
  // Tells that the calling thread is the shard's engine thread from now on (it alone may enter the ring).
  virtual void bind_engine_thread() = 0;
};

// Process-wide.
class Provider {
 public:
  virtual ~Provider() = default;
  [[nodiscard]] virtual ProviderId id() const noexcept = 0;
  [[nodiscard]] virtual std::string_view name() const noexcept = 0;
  [[nodiscard]] virtual Limits limits() const noexcept = 0;
  // `region` stays mapped until deregister_memory. `shared_fd`: the memfd that the region maps from its
  // start, to be duplicated by who needs it; -1: the application's own memory.
  virtual Status register_memory(MemoryKey key, std::span<std::byte> region, Access access,
                                 int shared_fd) = 0;
  virtual void deregister_memory(MemoryKey key) noexcept = 0;
  // EADDRINUSE and the like as of listen(2). Null: this provider listens on the descriptor itself, or nothing
  // of its own carries the address. `descriptor`: a TCP socket that is bound and does not listen yet.
  virtual Result<std::unique_ptr<Listening>> start_listening(int /*descriptor*/, int /*backlog*/) {
    return std::unique_ptr<Listening>();
  }
  // EADDRINUSE: somebody listens on that address and port in a way that bind(2) does not see.
  virtual Status check_address(const sockaddr& /*address*/) { return {}; }
  // `why_not` tells where it cannot be had.
  virtual Result<std::unique_ptr<Port>> open_port(Reason& why_not) = 0;
};

}  // namespace exs
