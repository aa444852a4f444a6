// A link carries messages over one exs connection. A short message is in a frame of its own. A longer one follows a frame with its
// length, and moves from the sender's memory into the receiver's. Thread: one at a time.
//
// Design notes
//  1. Exactly one receive is posted, so a long message never meets the buffer of frames.
//  2. A short message leaves from memory of the link, if the previous one is known to have arrived. The client knows this when its last
//     call is answered, and tells the server with the next call. Otherwise exs copies the message, and asks the kernel whether the memory
//     exists; that takes longer than the rest of a call. A long message keeps its memory until the peer has it.
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "exs/exs.h"
#include "rpc/channel/frame.h"
#include "rpc/channel/message_buffer.h"

namespace exs::rpc {

class Link {
 public:
  // Takes over the connected socket; its events go to `queue`, each with `handle`.
  Link(int socket, exs_qhandle_t queue, exs_ahandle_t handle)
      : socket_(socket), queue_(queue), handle_(handle) {}
  ~Link();
  Link(const Link&) = delete;
  Link& operator=(const Link&) = delete;

  // Changes the queue from the next receive and send on.
  void use_queue(exs_qhandle_t queue, exs_ahandle_t handle) {
    queue_ = queue;
    handle_ = handle;
  }
  // For measurements: messages leave from, and long ones arrive in, memory that is not registered.
  void use_plain_memory() { is_plain_ = true; }
  // Posts the first receive. Here and below false means: errno is set, and the link is unusable.
  bool begin(std::uint32_t longest);

  // The effect of an event of this link.
  enum class News {
    kNothing,
    kMessage,  // received() is valid until receive_next()
    kEnd,      // error() has the reason; receives have no more events
  };
  News take(const exs_event_t& event);

  [[nodiscard]] FrameType type() const { return frame_.type; }
  [[nodiscard]] std::span<const std::byte> received() const { return received_; }
  // Drops the message and posts the next receive. While many long messages are under way to the peer, no receive is posted.
  bool receive_next();
  // Exchanges the memory of received() for that of `buffer`. Returns false unless the message is long.
  bool take_body(MessageBuffer& buffer);

  bool send_frame(FrameType type, std::span<const std::byte> body);
  // Sends the first `bytes` bytes of the message in `buffer`. A long message takes the buffer and leaves another one.
  bool send(MessageBuffer& buffer, std::size_t bytes);
  // The same for occasional messages: exs copies, so the link needs no memory to send from.
  bool send_copied(MessageBuffer& buffer, std::size_t bytes);
  // Sends a short message that has room for its frame before it. The caller keeps its registered memory until the peer is known to have
  // it.
  bool send_kept(std::byte* frame, std::size_t bytes, exs_mhandle_t region);
  // An answer has arrived, so everything sent has arrived too.
  void note_answer() { is_out_free_ = true; }
  // The number of long messages that the peer does not have yet.
  [[nodiscard]] std::size_t sending() const { return sends_.size(); }

  [[nodiscard]] int error() const { return error_; }
  [[nodiscard]] int socket() const { return socket_; }
  // Ends the link at once: the peer stops reading our memory.
  void break_off();
  // Gives the socket to the caller. No receive may be posted: a message has arrived, and receive_next() has not been called.
  int release() { return std::exchange(socket_, -1); }

  std::uint64_t sent_bytes = 0;
  std::uint64_t received_bytes = 0;

 private:
  static constexpr std::size_t kLongSendsMax = 8;

  News take_frame(std::size_t bytes);
  bool receive_body();
  bool send_short(const MessageBuffer& buffer, std::size_t bytes);
  bool send_unregistered(const MessageBuffer& buffer, std::size_t bytes, bool has_all);
  bool has_out();
  [[nodiscard]] exs_mhandle_t region_of(const MessageBuffer& buffer) const {
    return is_plain_ ? EXS_MHANDLE_UNREGISTERED : buffer.region();
  }
  bool has_place_for_long();
  bool send_long(MessageBuffer& buffer, std::size_t bytes);
  News end(int error);

  int socket_;
  exs_qhandle_t queue_;
  exs_ahandle_t handle_;
  exs_mhandle_t region_ = EXS_MHANDLE_INVALID;
  std::uint32_t longest_ = 0;
  bool is_plain_ = false;
  int error_ = 0;
  Frame frame_{};
  bool awaits_body_ = false;
  std::span<const std::byte> received_;
  MessageBuffer body_;  // memory of a long message
  bool owes_receive_ = false;
  std::vector<MessageBuffer> sends_;  // in the order of the sends; each stays until the peer has it
  MessageBuffer spare_;
  bool is_out_free_ = true;
  using FrameMemory = std::array<std::byte, kFrameBytes + kInlineBytes>;
  alignas(64) FrameMemory in_;
  // Allocated by the first send that needs it.
  std::unique_ptr<FrameMemory> out_;
  exs_mhandle_t out_region_ = EXS_MHANDLE_INVALID;
};

}  // namespace exs::rpc
