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

#include <sys/socket.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "base/status.h"
#include "exs/exs.h"
#include "rpc/channel/frame.h"
#include "rpc/channel/message_buffer.h"

namespace exs::rpc {

class MessageLink {
 public:
  // Takes over the connected socket; its events go to `queue`, each with `handle`.
  MessageLink(int socket, exs_qhandle_t queue, exs_ahandle_t handle)
      : handle_(handle), socket_(socket), queue_(queue) {}
  ~MessageLink();
  MessageLink(const MessageLink&) = delete;
  MessageLink& operator=(const MessageLink&) = delete;

  // Changes the queue from the next receive and send on.
  void use_queue(exs_qhandle_t queue, exs_ahandle_t handle) {
    queue_ = queue;
    handle_ = handle;
  }
  // For measurements: messages leave from, and long ones arrive in, memory that is not registered.
  void use_plain_memory() { is_plain_ = true; }
  // Posts the first receive. After an error, here and below, the link is unusable.
  Status start_receiving(std::uint32_t longest);

  // The effect of an event of this link.
  enum class News {
    kNothing,
    kMessage,  // received() is valid until receive_next()
    kEnd,      // why_ended() has the reason; receives have no more events
  };
  News take_event(const exs_event_t& event);

  [[nodiscard]] FrameType type() const { return frame_.type; }
  [[nodiscard]] std::span<const std::byte> received() const { return received_; }
  // Drops the message and posts the next receive. While many long messages are under way to the peer, no receive is posted.
  Status receive_next();
  // Exchanges the memory of received() for that of `buffer`. Returns false unless the message is long.
  bool take_body(MessageBuffer& buffer);

  Status send_frame(FrameType type, std::span<const std::byte> body);
  // Sends the first `bytes` bytes of the message in `buffer`. A long message takes the buffer and leaves another one.
  Status send(MessageBuffer& buffer, std::size_t bytes);
  // The same for occasional messages: exs copies, so the link needs no memory to send from.
  Status send_copied(MessageBuffer& buffer, std::size_t bytes);
  // Sends a short message that has room for its frame before it. The caller keeps its registered memory until the peer is known to have
  // it.
  Status send_kept(std::byte* frame, std::size_t bytes, exs_mhandle_t region);
  // An answer has arrived, so everything sent has arrived too.
  void note_answer() { is_out_free_ = true; }
  // The number of long messages that the peer does not have yet.
  [[nodiscard]] std::size_t long_sends() const { return sends_.size(); }

  [[nodiscard]] Status why_ended() const { return why_ended_; }
  [[nodiscard]] int socket() const { return socket_; }
  // Ends the link at once: the peer stops reading our memory.
  void break_off();
  // Gives the socket to the caller. No receive may be posted: a message has arrived, and receive_next() has not been called.
  int release_socket();

  // Bytes of messages, also of those that went another way and are counted here.
  [[nodiscard]] std::uint64_t sent_bytes() const { return sent_bytes_; }
  [[nodiscard]] std::uint64_t received_bytes() const { return received_bytes_; }
  void count_sent(std::size_t bytes) { sent_bytes_ += bytes; }
  void count_received(std::size_t bytes) { received_bytes_ += bytes; }

 private:
  static constexpr std::size_t kLongSendsMax = 8;

  // What the next event of a receive is about. At most one is posted.
  enum class ReceiveState : std::uint8_t {
    kNone,   // received() is in use, or none was posted yet
    kFrame,  // a frame
    kBody,   // the body of a long message, whose frame has arrived
    kOwed,   // none is posted before a long message has left
  };

  News on_sent(const exs_event_t& event);
  News on_received(const exs_event_t& event);
  News take_frame(std::size_t bytes);
  News take_long_message(std::size_t bytes);
  Status receive_body();
  Status send_short(const MessageBuffer& buffer, std::size_t bytes);
  Status send_unregistered(const MessageBuffer& buffer, std::size_t bytes, bool has_all);
  bool has_out();
  [[nodiscard]] exs_mhandle_t region_of(const MessageBuffer& buffer) const {
    return is_plain_ ? EXS_MHANDLE_UNREGISTERED : buffer.region();
  }
  Status reserve_long_send();
  Status send_long(MessageBuffer& buffer, std::size_t bytes);
  News end_with(Status why);

  using FrameMemory = std::array<std::byte, kFrameBytes + kInlineBytes>;

  alignas(64) FrameMemory in_;
  std::uint64_t sent_bytes_ = 0;
  std::uint64_t received_bytes_ = 0;
  exs_ahandle_t handle_;
  std::span<const std::byte> received_;
  MessageBuffer body_;                // memory of a long message
  std::vector<MessageBuffer> sends_;  // in the order of the sends; each stays until the peer has it
  MessageBuffer spare_;
  // Allocated by the first send that needs it.
  std::unique_ptr<FrameMemory> out_;
  Status why_ended_;
  exs_mhandle_t out_region_ = EXS_MHANDLE_INVALID;
  exs_mhandle_t region_ = EXS_MHANDLE_INVALID;
  int socket_;
  exs_qhandle_t queue_;
  std::uint32_t longest_ = 0;
  LinkFrame frame_{};
  bool is_plain_ = false;
  bool is_out_free_ = true;
  ReceiveState receive_ = ReceiveState::kNone;
};

}  // namespace exs::rpc
