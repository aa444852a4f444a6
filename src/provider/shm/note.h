// What the two ends of a channel say over its Unix socket: set-up, and descriptors. One packet a note.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "src/base/status.h"
#include "src/base/unique_fd.h"
#include "src/provider/shm/identity.h"

namespace exs::shm {

// The acceptor speaks first (welcome or refusal), so that its closing loses nothing that it said.
enum class NoteKind : std::uint32_t {
  kWelcome = 1,    // acceptor: its Greeting
  kHello = 2,      // connector: its Greeting
  kRefusal = 3,    // acceptor: no channel; code
  kJoin = 4,       // connector: number (its link's), token
  kJoined = 5,     // acceptor: number (the joiner's), peer_number (its own link's)
  kNotJoined = 6,  // acceptor: number (the joiner's), code
  kRegion = 7,     // key, length_bytes; with the memfd
  kRetract = 8,    // key
  kRing = 9,       // look at the ring
};

// Integers are the host's: both ends run on one machine. What a kind does not use is zero.
struct Note {
  NoteKind kind{};
  std::uint32_t version = 0;  // greeting
  std::uint32_t number = 0;
  std::uint32_t peer_number = 0;
  std::uint32_t key = 0;
  std::uint32_t code = 0;             // a ReasonCode
  std::uint64_t length_bytes = 0;     // of the segment or region
  std::uint64_t nonce_address = 0;    // greeting: where the sender's memory has `name`,
  std::uint64_t scratch_address = 0;  // and where eight bytes may be written
  Name name{};                        // greeting: nonce; join: token
};
static_assert(sizeof(Note) == 64);

inline constexpr std::size_t kNoteDescriptorsMax = 2;

struct ReceivedNote {
  Note note;
  std::array<UniqueFd, kNoteDescriptorsMax> descriptors;  // owned: dropped with the note
  std::size_t descriptor_count = 0;
};

// EAGAIN: no room now. Never blocks.
Status send_note(int socket, const Note& note, std::span<const int> descriptors = {});
// EAGAIN: none yet. ECONNRESET: the end. EPROTO: not a note. EMFILE: its descriptors found no place in this
// process.
Result<ReceivedNote> receive_note(int socket);

}  // namespace exs::shm
