// Incoming connections: TCP accept, then the peer's MPA request, within a time limit, and bounds on how many.
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <list>
#include <memory>

#include "src/provider/connector.h"
#include "src/provider/iwarp/incoming_request.h"
#include "src/provider/iwarp/port_context.h"
#include "src/provider/poller.h"

namespace exs::iwarp {

// Thread: shard.
class IwarpListener final : public PortListener, public Pollable {
 public:
  IwarpListener(PortContext& context, int descriptor, const ListenParameters& parameters,
                std::uint64_t token);
  ~IwarpListener() override;
  IwarpListener(const IwarpListener&) = delete;
  IwarpListener& operator=(const IwarpListener&) = delete;

  Status start();
  std::unique_ptr<ConnectionRequest> next_request() override;
  void ready(std::uint32_t events) override;

  // Ends overdue handshakes, notifies waiting peers, and listens again after a rest.
  void check_deadlines();
  [[nodiscard]] std::uint64_t next_deadline_ns() const noexcept;

 private:
  // One peer that has connected and not finished its request.
  class Handshake final : public Pollable {
   public:
    Handshake(IwarpListener& listener, int descriptor, std::uint64_t now_ns, std::uint64_t limit_ns)
        : listener_(listener), descriptor_(descriptor), begun_ns_(now_ns), deadline_ns_(now_ns + limit_ns) {}
    ~Handshake() override;
    Handshake(const Handshake&) = delete;
    Handshake& operator=(const Handshake&) = delete;

    void ready(std::uint32_t events) override;
    void take_bytes();

    IwarpListener& listener_;
    int descriptor_;
    const std::uint64_t begun_ns_;
    const std::uint64_t deadline_ns_;
    bool has_spoken_ = false;
    std::unique_ptr<MpaCollector> collector_ = std::make_unique<MpaCollector>(MpaRole::kRequest);
    std::list<Handshake>::iterator self_;
  };

  // A peer whose request waits for its accept. Its end is watched. Otherwise a peer that has gone would keep
  // its descriptor, and its place in the backlog, until an accept.
  class Waiting final : public Pollable {
   public:
    Waiting(IwarpListener& listener, std::unique_ptr<IncomingRequest> request, std::uint64_t now_ns)
        : listener_(listener), request_(std::move(request)), since_ns_(now_ns) {}

    void ready(std::uint32_t events) override;

    IwarpListener& listener_;
    std::unique_ptr<IncomingRequest> request_;
    const std::uint64_t since_ns_;
    std::list<Waiting>::iterator self_;
  };

  [[nodiscard]] bool is_full() const noexcept;
  // Makes room for one more handshake. False: not yet.
  bool make_room();
  bool accept_one();
  // The descriptor is the handshake's, unless std::bad_alloc is thrown.
  void begin_handshake(int descriptor);
  static void turn_away(int descriptor) noexcept;
  void pause_or_resume();
  void request_complete(Handshake& handshake);
  void tell_waiting();
  // No longer in the list.
  std::unique_ptr<IncomingRequest> take_request(Waiting& waiting);
  void drop(Handshake& handshake, int error, const char* why);
  void retire(Handshake& handshake);

  PortContext& context_;
  const CompletionQueue::SourceHandle completions_ = context_.completions.make_source();
  const int descriptor_;
  const ListenParameters parameters_;
  const std::uint64_t token_;
  bool listening_ = false;  // in the epoll set
  bool starved_ = false;    // the last accept4 found no descriptor or memory
  // No descriptors or memory, or too many peers at once: accepts again then.
  std::uint64_t rests_until_ns_ = 0;
  std::list<Handshake> handshakes_;  // oldest first, so deadlines are in order
  std::list<Handshake> retired_;     // an event that the poller has given already may still name them
  std::list<Waiting> requests_;      // oldest first
  // The first peer not notified yet that it waits.
  std::list<Waiting>::iterator first_untold_ = requests_.end();
};

}  // namespace exs::iwarp
