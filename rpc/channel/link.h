// A link carries messages between two ends over one exs connection: a short one in a frame of its own, a longer one behind a frame
// that tells its length, from the sender's memory into the receiver's. Thread: one at a time.
//
// Design notes
// 1. Exactly one receive is posted, so a long message never meets the buffer of frames.
// 2. A short message leaves from memory of the link, if what left from there before is known to have arrived: the client knows when
//    its last call is answered, and tells the server with the next one. Else exs copies it, and asks the kernel whether the memory is
//    there, which takes longer than all the rest of a call. A long one keeps its memory until the peer has it.
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
  // Takes the connected socket; its events go to `queue`, each with `handle`.
  Link(int socket, exs_qhandle_t queue, exs_ahandle_t handle)
      : socket_(socket), queue_(queue), handle_(handle) {}
  ~Link();
  Link(const Link&) = delete;
  Link& operator=(const Link&) = delete;

  // From the next receive and send on.
  void use_queue(exs_qhandle_t queue, exs_ahandle_t handle) {
    queue_ = queue;
    handle_ = handle;
  }
  // Messages leave from, and long ones come to, memory that exs does not know, as they would without this library's care: for figures.
  void use_plain_memory() { is_plain_ = true; }
  // Posts the first receive. False, here and below: errno, and the link is of no use any more.
  bool begin(std::uint32_t longest);

  // What an event of this link has brought.
  enum class News {
    kNothing,
    kMessage,  // received(), until receive_next()
    kEnd,      // error() says why; no more events of receives come
  };
  News take(const exs_event_t& event);

  [[nodiscard]] FrameType type() const { return frame_.type; }
  [[nodiscard]] std::span<const std::byte> received() const { return received_; }
  // The message is not needed any more. While many long messages are on their way to the peer, nothing is received from it.
  bool receive_next();
  // The memory of received() in exchange for that of `buffer`, if it is a long message.
  bool take_body(MessageBuffer& buffer);

  bool send_frame(FrameType type, std::span<const std::byte> body);
  // The first `bytes` bytes of the message in `buffer`. A long one takes the buffer and gives another.
  bool send(MessageBuffer& buffer, std::size_t bytes);
  // The same for a message now and then: exs copies it, so the link needs no memory to send from.
  bool send_copied(MessageBuffer& buffer, std::size_t bytes);
  // The short message behind room for its frame, in registered memory that the caller keeps until the peer is known to have it.
  bool send_kept(std::byte* frame, std::size_t bytes, exs_mhandle_t region);
  // Everything that was sent has arrived, as its answer has come.
  void note_answer() { is_out_free_ = true; }
  // Long messages that the peer does not have yet.
  [[nodiscard]] std::size_t sending() const { return sends_.size(); }

  [[nodiscard]] int error() const { return error_; }
  [[nodiscard]] int socket() const { return socket_; }
  // Ends at once: the peer reads our memory no more.
  void break_off();
  // The socket is the caller's. Nothing is posted on it: a message has been received, and the next is not asked for.
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
  MessageBuffer body_;  // of a long message
  bool owes_receive_ = false;
  std::vector<MessageBuffer> sends_;  // in the order of their sends; each until the peer has it
  MessageBuffer spare_;
  bool is_out_free_ = true;
  using FrameMemory = std::array<std::byte, kFrameBytes + kInlineBytes>;
  alignas(64) FrameMemory in_;
  // When it first sends from there.
  std::unique_ptr<FrameMemory> out_;
  exs_mhandle_t out_region_ = EXS_MHANDLE_INVALID;
};

}  // namespace exs::rpc
