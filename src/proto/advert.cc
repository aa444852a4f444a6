#include "src/proto/advert.h"

#include "src/base/log.h"
#include "src/proto/token.h"

namespace exs::proto {

// Nobody reads an empty window, so none is opened.
Result<RemoteSlice> Adverts::open_window(const LocalSlice& memory) {
  if (memory.length_bytes == 0) return RemoteSlice{};
  return link_.expose(memory, Access::kRemoteRead);
}

Status Adverts::send(const RemoteSlice& window, std::uint32_t sequence, std::uint64_t operation_id) {
  wire::Message message;
  message.header.type = wire::MessageType::kAdvert;
  message.header.sequence = sequence;
  message.advert = {window.address, window.length_bytes, window.key};
  const Status status = outbox_.send(message, {}, make_token(PostKind::kMessage, 0));
  if (!status.ok()) {
    // The peer never heard of the window, so nobody can be reading.
    if (window.length_bytes > 0) static_cast<void>(link_.withdraw(window.key));
    return status;
  }
  outstanding_.push_back({operation_id, window.length_bytes, window.key, sequence});
  return {};
}

Result<std::uint64_t> Adverts::acknowledged(const wire::Message& message) {
  const std::uint32_t sequence = message.header.sequence;
  if (outstanding_.empty()) {
    log(LogLevel::kWarn, "protocol error: ACK of %u, no advert is outstanding", sequence);
    return failure(EPROTO);
  }
  const Outstanding& oldest = outstanding_.front();
  if (sequence != oldest.sequence) {
    log(LogLevel::kWarn, "protocol error: ACK of %u, the oldest advert is %u", sequence, oldest.sequence);
    return failure(EPROTO);
  }
  if (message.ack.bytes_taken > oldest.length_bytes) {
    log(LogLevel::kWarn, "protocol error: ACK of %u takes %llu of %llu bytes", sequence,
        static_cast<unsigned long long>(message.ack.bytes_taken),
        static_cast<unsigned long long>(oldest.length_bytes));
    return failure(EPROTO);
  }
  if (oldest.length_bytes > 0) {
    const Status status = link_.withdraw(oldest.key);
    if (status.error() == EBUSY) {
      log(LogLevel::kWarn, "protocol error: ACK of %u while the peer still reads", sequence);
      return failure(EPROTO);
    }
    if (!status.ok()) return failure(status);
  }
  return outstanding_.pop_front().operation_id;
}

}  // namespace exs::proto
