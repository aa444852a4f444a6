// A connected queue pair with its memory and completion queues. On failure a call throws tools::Failure with the step that failed.
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <rdma/rdma_cma.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

namespace verbs_baseline {

struct Deleter {
  void operator()(rdma_event_channel* channel) const { rdma_destroy_event_channel(channel); }
  void operator()(rdma_cm_id* id) const { rdma_destroy_id(id); }
  void operator()(ibv_pd* domain) const { ibv_dealloc_pd(domain); }
  void operator()(ibv_mr* region) const { ibv_dereg_mr(region); }
  void operator()(ibv_comp_channel* channel) const { ibv_destroy_comp_channel(channel); }
  void operator()(ibv_cq* queue) const { ibv_destroy_cq(queue); }
};
template <typename Object>
using Owned = std::unique_ptr<Object, Deleter>;

// A completion queue, with a channel to sleep on while it is empty.
class Completions {
 public:
  Completions(ibv_context* device, int depth, bool busy);
  ~Completions();
  Completions(const Completions&) = delete;
  Completions& operator=(const Completions&) = delete;

  // Returns at least one completion, all of them successful.
  std::size_t wait(std::span<ibv_wc> out);
  [[nodiscard]] ibv_cq* queue() const { return queue_.get(); }

 private:
  void sleep();
  const bool busy_;
  Owned<ibv_comp_channel> channel_;
  Owned<ibv_cq> queue_;
  unsigned unacknowledged_ = 0;
  bool armed_ = false;
};

// The requirements of a connection.
struct Needs {
  std::size_t memory_bytes = 0;
  std::uint32_t sends = 1;  // work requests
  std::uint32_t receives = 1;
  std::uint32_t inline_bytes = 0;  // 0 if the device does not allow that many
  bool busy = false;
};

class Connection {
 public:
  ~Connection();
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  void post_receive(std::uint64_t at, std::uint32_t length);
  void post_send(std::uint64_t at, std::uint32_t length, bool signaled);
  // Reads the peer's memory, which has the same layout as this end's.
  void post_read(std::uint64_t at, std::uint32_t length, std::uint64_t peer_address, std::uint32_t peer_key);

  [[nodiscard]] Completions& sent() { return sent_; }
  [[nodiscard]] Completions& received() { return received_; }
  [[nodiscard]] std::span<std::byte> memory() { return {memory_.get(), memory_bytes_}; }
  [[nodiscard]] std::uint32_t remote_key() const { return region_->rkey; }
  [[nodiscard]] bool is_inline() const { return is_inline_; }
  [[nodiscard]] std::string device() const { return ibv_get_device_name(id_->verbs->device); }

 private:
  friend class Listener;
  friend std::unique_ptr<Connection> connect(const std::string&, std::uint16_t, const Needs&);
  // `events` may be NULL: then another connection's channel reports the events of this id.
  Connection(Owned<rdma_event_channel> events, Owned<rdma_cm_id> id, const Needs& needs);
  void make_queue_pair(const Needs& needs);
  void post(ibv_send_wr& request, std::uint64_t at, std::uint32_t length);
  [[nodiscard]] rdma_conn_param parameters() const;

  struct Pages {
    std::size_t length;
    void operator()(std::byte* pages) const;
  };

  Owned<rdma_event_channel> events_;
  Owned<rdma_cm_id> id_;
  Completions sent_;
  Completions received_;
  const std::size_t memory_bytes_;
  std::unique_ptr<std::byte, Pages> memory_;
  Owned<ibv_pd> domain_;
  Owned<ibv_mr> region_;
  bool is_inline_ = false;
};

class Listener {
 public:
  explicit Listener(const std::string& address);
  [[nodiscard]] std::uint16_t port() const;
  // Waits for a peer. `prepare` posts receives; it is called before the peer may send.
  template <typename Prepare>
  std::unique_ptr<Connection> accept(const Needs& needs, Prepare prepare) {
    auto connection = take(needs);
    prepare(*connection);
    establish(*connection);
    return connection;
  }

 private:
  std::unique_ptr<Connection> take(const Needs& needs);
  static void establish(Connection& connection);
  Owned<rdma_event_channel> events_;
  Owned<rdma_cm_id> id_;
};

std::unique_ptr<Connection> connect(const std::string& address, std::uint16_t port, const Needs& needs);

}  // namespace verbs_baseline
