// The transport by which a server of libtirpc gets requests of all links: its descriptor is readable while a link has something. So
// svc_run(), and a program's own loop over svc_fdset or svc_pollfd, serve links too. Thread: the one that serves requests; also the
// library's own threads, and a thread that ends a transport.
//
// Design notes
//  1. Nothing of exs begins before a client asks for a link: a program may fork and close descriptors before that.
//  2. The hub waits for more for a while after each request. A client often asks again at once, and then the way back through poll()
//     would cost more than the request.
//  3. It destroys no transport: the loop above may hold descriptors that were ready before. The end of the connection does that.
//  4. With threads (exs_sunrpc_threads) each thread has a queue for the events of its links. RPCSEC_GSS stays with the program's thread.
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <rpc/rpc.h>

#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "base/annotations.h"
#include "base/drive_lock.h"
#include "base/status.h"
#include "rpc/channel/message_link.h"
#include "rpc/sunrpc/rendezvous.h"
#include "rpc/sunrpc/server_transport.h"

namespace exs::rpc {

class Hub final : public LinkHost {
 public:
  static Hub& instance();

  // Called before the first offer; these threads serve links then. EINVAL: they are too many. EBUSY: there was an offer.
  Status use_threads(unsigned threads);

  // Answers a client's offer, which arrived by this transport. Throws std::bad_alloc. All else is called by libtirpc, whose frames no
  // exception may pass, and so throws nothing.
  OfferAnswer answer(SVCXPRT* transport, const LinkOffer& offer) EXS_EXCLUDES(mutex_);
  bool pass_on(ServerTransport& transport) override EXS_EXCLUDES(mutex_);
  void forget(const ServerTransport& transport) override EXS_EXCLUDES(mutex_);

 private:
  static constexpr std::size_t kNoWorker = SIZE_MAX;
  static constexpr std::size_t kNoPlace = SIZE_MAX;
  static constexpr int kFirstDepth = 1024;  // of a queue
  static constexpr std::uint32_t kLongestCall = std::uint32_t{256} << 20U;
  struct HubWorker {
    exs_qhandle_t queue = EXS_QHANDLE_INVALID;
    MessageBuffer reply;
    std::size_t links = 0;  // counted by idlest_worker()
  };
  struct LinkToken {
    std::array<char, kTokenBytes> bytes;
    ServerTransport* transport;
    std::uint64_t end_ns;
  };
  // A link, from its connection on.
  struct LinkPlace {
    std::unique_ptr<MessageLink> stranger;       // while it has not sent its token
    std::shared_ptr<ServerTransport> transport;  // after that
    std::uint32_t generation = 0;
    std::size_t worker = kNoWorker;
    std::uint64_t end_ns = 0;  // the time limit of a stranger
  };
  struct HubListener {
    int socket;
    sockaddr_storage address;
    socklen_t length;
    std::uint16_t port;
    bool accepts;  // an accept is posted
  };

  static bool_t receive(SVCXPRT* transport, rpc_msg* message);
  static void destroy(SVCXPRT* transport);

  // While one thread serves all, it needs no lock, and takes none.
  class EXS_SCOPED_CAPABILITY HubTurn {
   public:
    explicit HubTurn(Hub& hub) EXS_ACQUIRE(hub.mutex_) EXS_NO_THREAD_SAFETY_ANALYSIS
        : hub_(hub),
          has_mutex_(hub.has_threads()) {
      if (has_mutex_) hub_.mutex_.lock();
    }
    ~HubTurn() EXS_RELEASE() EXS_NO_THREAD_SAFETY_ANALYSIS {
      if (has_mutex_) hub_.mutex_.unlock();
    }
    HubTurn(const HubTurn&) = delete;
    HubTurn& operator=(const HubTurn&) = delete;

   private:
    Hub& hub_;
    const bool has_mutex_;
  };

  [[nodiscard]] bool start() EXS_REQUIRES(mutex_);
  void register_transport() EXS_REQUIRES(mutex_);
  void start_workers() EXS_REQUIRES(mutex_);
  [[nodiscard]] bool start_worker() EXS_REQUIRES(mutex_);
  static void* work(void* worker);
  [[nodiscard]] std::size_t idlest_worker() EXS_REQUIRES(mutex_);
  const HubListener* listener_for(SVCXPRT* transport) EXS_REQUIRES(mutex_);
  const HubListener* listen_at(HubListener made) EXS_REQUIRES(mutex_);
  [[nodiscard]] bool post_accept(const HubListener& listener) const;
  [[nodiscard]] bool add_token(ServerTransport& transport, std::array<char, kTokenBytes>& bytes)
      EXS_REQUIRES(mutex_);
  ServerTransport* take_token(std::span<const std::byte> bytes) EXS_REQUIRES(mutex_);
  void serve();
  void take_event(const exs_event_t& event) EXS_EXCLUDES(mutex_);
  std::shared_ptr<ServerTransport> take_own_event(const exs_event_t& event) EXS_EXCLUDES(mutex_);
  void take_accept(const exs_event_t& event) EXS_REQUIRES(mutex_);
  void take_event_of_stranger(LinkPlace& place, const exs_event_t& event) EXS_REQUIRES(mutex_);
  [[nodiscard]] std::size_t free_place() EXS_REQUIRES(mutex_);
  void accept_link(int socket) EXS_REQUIRES(mutex_);
  void deepen_queues() EXS_REQUIRES(mutex_);
  void greet(LinkPlace& place) EXS_REQUIRES(mutex_);
  void end_stranger(LinkPlace& place) EXS_REQUIRES(mutex_);
  void drop_late_strangers() EXS_EXCLUDES(mutex_);
  [[nodiscard]] LinkPlace* place_of(exs_ahandle_t handle) EXS_REQUIRES(mutex_);
  [[nodiscard]] exs_ahandle_t handle_of(std::size_t index) const EXS_REQUIRES(mutex_);

  // Set once, before there are threads.
  exs_qhandle_t queue_ = EXS_QHANDLE_INVALID;
  unsigned threads_ = 0;
  SVCXPRT transport_{};
  std::vector<std::unique_ptr<HubWorker>> workers_;
  Mutex mutex_;
  std::vector<HubListener> listeners_ EXS_GUARDED_BY(mutex_);
  std::vector<LinkToken> tokens_ EXS_GUARDED_BY(mutex_);
  std::vector<LinkPlace> places_ EXS_GUARDED_BY(mutex_);
  std::size_t strangers_ EXS_GUARDED_BY(mutex_) = 0;
  int depth_ EXS_GUARDED_BY(mutex_) = 0;
  MessageBuffer reply_;  // of the links that the program's thread serves
};

}  // namespace exs::rpc
