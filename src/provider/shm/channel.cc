#include "src/provider/shm/channel.h"

#include <poll.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <iterator>
#include <utility>

#include "src/base/kernel.h"
#include "src/base/log.h"

namespace exs::shm {
namespace {

constexpr std::uint32_t kGenerations = 1U << 12;
// A peer that never stops must not keep the port; more than fits into a socket's buffer, so that a region
// which was announced before it was used is always found.
constexpr int kReadsAtOnce = 1024;

bool is_for_rendezvous(NoteKind kind) {
  return kind == NoteKind::kJoin || kind == NoteKind::kJoined || kind == NoteKind::kNotJoined ||
         kind == NoteKind::kRefusal;
}

}  // namespace

Channel::Channel(Poller& poller, Parts parts)
    : poller_(poller),
      parts_(std::move(parts)),
      out_(parts_.segment.bytes()),
      in_(parts_.peer_segment.bytes()) {}

Channel::~Channel() {
  end(Status(ECANCELED));
}

Status Channel::start() {
  watched_ = EPOLLIN;
  if (const Status status = poller_.add(parts_.socket.get(), watched_, *this); !status.ok()) return status;
  if (const Status status = poller_.add(parts_.doorbell.get(), EPOLLIN | EPOLLET, bell_); !status.ok()) {
    return status;
  }
  if (!parts_.peer_pidfd.valid()) return {};
  return poller_.add(parts_.peer_pidfd.get(), EPOLLIN, death_);
}

void Channel::end(Status why) {
  if (is_over()) return;
  status_ = why;
  for (UniqueFd* descriptor : {&parts_.socket, &parts_.doorbell, &parts_.peer_doorbell, &parts_.peer_pidfd}) {
    if (!descriptor->valid()) continue;
    poller_.remove(descriptor->get());
    descriptor->reset();
  }
  unsent_.clear();
  regions_.clear();
  parts_.reads_memory = false;
}

bool Channel::peer_process_lives() const {
  if (is_over() || parts_.peer_pid == 0) return false;
  if (!parts_.peer_pidfd.valid() && parts_.peer_pid != kernel::getpid()) return false;
  return !peer_is_gone();
}

bool Channel::peer_is_gone() const {
  if (is_over()) return true;
  // The socket, too: it goes when the process becomes another program.
  pollfd ends[] = {{parts_.peer_pidfd.get(), POLLIN, 0}, {parts_.socket.get(), 0, 0}};
  return kernel::poll(ends, std::size(ends), 0) != 0;
}

// The slot freed last comes first; its next number differs by the generation.
Result<std::uint32_t> Channel::reserve() {
  if (is_over()) return failure(ECONNRESET);
  std::uint32_t index = 0;
  if (!free_.empty()) {
    index = free_.back();
    free_.pop_back();
  } else {
    if (slots_.size() > kIndexMask) return failure(ENOSPC);
    index = static_cast<std::uint32_t>(slots_.size());
    slots_.emplace_back();
  }
  Slot& slot = slots_[index];
  slot.generation = (slot.generation + 1) % kGenerations;
  slot.number = slot.generation << kIndexBits | index;
  ++numbers_;
  return slot.number;
}

void Channel::attach(std::uint32_t number, ShmLink& link) {
  EXS_CHECK(is_reserved(number));
  slots_[number & kIndexMask].link = &link;
}

void Channel::remove(std::uint32_t number) {
  Slot& slot = slots_[number & kIndexMask];
  EXS_CHECK(number != 0 && slot.number == number);
  slot.number = 0;
  slot.link = nullptr;
  free_.push_back(number & kIndexMask);
  --numbers_;
}

bool Channel::is_reserved(std::uint32_t number) const noexcept {
  const std::uint32_t index = number & kIndexMask;
  return number != 0 && index < slots_.size() && slots_[index].number == number &&
         slots_[index].link == nullptr;
}

void Channel::ring() {
  if (is_over()) return;
  if (!parts_.peer_doorbell.valid()) {
    // Full: the peer has notes to read already, which wake it.
    Note note;
    note.kind = NoteKind::kRing;
    [[maybe_unused]] const Status sent = send_note(parts_.socket.get(), note);
    return;
  }
  const std::uint64_t one = 1;
  [[maybe_unused]] const ssize_t written = kernel::write(parts_.peer_doorbell.get(), &one, sizeof one);
}

Status Channel::announce(MemoryKey key, int shared_fd, std::size_t length_bytes) {
  if (is_over()) return Status(ECONNRESET);
  if (announced_.contains(key.value)) return {};
  if (!unsent_.empty()) return Status(EAGAIN);
  if (announced_.size() >= kRegionsMax) return Status(ENOSPC);
  Note note;
  note.kind = NoteKind::kRegion;
  note.key = key.value;
  note.length_bytes = length_bytes;
  if (const Status status = send_note(parts_.socket.get(), note, {&shared_fd, 1}); !status.ok())
    return status;
  announced_.insert(key.value);
  return {};
}

void Channel::retract(MemoryKey key) {
  if (is_over() || announced_.erase(key.value) == 0) return;
  Note note;
  note.kind = NoteKind::kRetract;
  note.key = key.value;
  tell(note);
}

const PeerRegion* Channel::region(std::uint32_t key) {
  auto found = regions_.find(key);
  if (found == regions_.end()) {
    read_socket();
    found = regions_.find(key);
  }
  return found == regions_.end() ? nullptr : &found->second.view;
}

void Channel::tell(const Note& note) {
  if (is_over()) return;
  if (unsent_.count() >= kUnsentMax) {
    log(LogLevel::kWarn, "shm: process %d does not read its channel's socket; the channel ends",
        static_cast<int>(parts_.peer_pid));
    return end(Status(EPROTO));
  }
  unsent_.push_back(note);
  send_unsent();
}

void Channel::send_unsent() {
  while (!unsent_.empty()) {
    const Status status = send_note(parts_.socket.get(), unsent_.front());
    if (status.error() == EAGAIN) break;
    if (!status.ok()) {
      // What the peer said before it went is still to be read: the socket's end shows by reading.
      unsent_.clear();
      break;
    }
    unsent_.pop_front();
  }
  watch_socket();
}

// Not for reading while the notes that came are not taken; the socket's end shows all the same.
void Channel::watch_socket() {
  if (is_over()) return;
  const std::uint32_t wanted = (notes_.count() < kNotesMax ? EPOLLIN : 0U) |
                               (unsent_.empty() ? 0U : static_cast<std::uint32_t>(EPOLLOUT));
  if (wanted == watched_) return;
  watched_ = wanted;
  poller_.change(parts_.socket.get(), wanted, *this);
}

bool Channel::take_note(Note& note) {
  if (notes_.empty()) return false;
  note = notes_.pop_front();
  watch_socket();
  return true;
}

void Channel::ready(std::uint32_t events) {
  if (is_over()) return;
  if ((events & EPOLLOUT) != 0) send_unsent();
  read_socket();
}

void Channel::read_socket() {
  for (int i = 0; i < kReadsAtOnce && !is_over() && notes_.count() < kNotesMax; ++i) {
    Result<ReceivedNote> received = receive_note(parts_.socket.get());
    if (!received) {
      const int error = received.error().error();
      if (error == EAGAIN || error == EINTR) break;
      return end(Status(error == EPROTO ? EPROTO : ECONNRESET));
    }
    if (const Status status = take_in(*received); !status.ok()) return end(status);
  }
  watch_socket();
}

Status Channel::take_in(ReceivedNote& received) {
  const Note& note = received.note;
  if (note.kind == NoteKind::kRegion) return take_region(received);
  if (received.descriptor_count != 0) return Status(EPROTO);
  if (note.kind == NoteKind::kRing) return {};
  if (note.kind == NoteKind::kRetract) {
    const auto found = regions_.find(note.key);
    if (found == regions_.end()) return {};
    region_bytes_ -= found->second.view.length_bytes;
    regions_.erase(found);
    return {};
  }
  if (!is_for_rendezvous(note.kind)) return Status(EPROTO);
  notes_.push_back(note);
  return {};
}

// A region that cannot be mapped is one that is not known: its bytes go another way.
Status Channel::take_region(ReceivedNote& received) {
  const Note& note = received.note;
  if (received.descriptor_count != 1 || note.length_bytes == 0) return Status(EPROTO);
  if (regions_.contains(note.key) || regions_.size() >= kRegionsMax) return Status(EPROTO);
  if (note.length_bytes > kRegionBytesMax - region_bytes_) return {};
  Result<Mapping> mapping =
      Mapping::of_peer(received.descriptors[0].get(), static_cast<std::size_t>(note.length_bytes));
  if (!mapping) return mapping.error() == Status(EPROTO) ? Status(EPROTO) : Status();
  region_bytes_ += note.length_bytes;
  const PeerRegion view{mapping->bytes().data(), mapping->bytes().size()};
  regions_.emplace(note.key, MappedRegion{std::move(*mapping), view});
  return {};
}

}  // namespace exs::shm
