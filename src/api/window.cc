// exs_recv_window: reads the counter, the data, and the counter again.
#include "src/api/api_call.h"
#include "src/api/peer_reader.h"

namespace exs {
namespace {

class WindowReader {
 public:
  WindowReader(PeerReader& reader, std::uint64_t window_offset)
      : reader_(reader), window_offset_(window_offset) {}

  Status snapshot(const Piece& into, std::uint64_t offset) {
    if (const Status status = read_counter(); !status.ok()) return status;
    for (;;) {
      while (is_open()) {
        if (const Status status = reader_.count_retry(); !status.ok()) return status;
        if (const Status status = read_counter(); !status.ok()) return status;
      }
      const std::uint64_t before = counter_;
      if (const Status status = reader_.read(into, offset); !status.ok()) return status;
      if (const Status status = read_counter(); !status.ok()) return status;
      if (counter_ == before) return {};
      if (const Status status = reader_.count_retry(); !status.ok()) return status;
    }
  }

 private:
  // An update is under way.
  [[nodiscard]] bool is_open() const { return counter_ % 2 != 0; }
  Status read_counter() { return reader_.read_words({&counter_, 1}, window_offset_); }

  PeerReader& reader_;
  const std::uint64_t window_offset_;
  std::uint64_t counter_ = 0;
};

}  // namespace
}  // namespace exs

using namespace exs;

ssize_t exs_recv_window(int socket, void* buffer, size_t length, exs_mhandle_t region, uint64_t offset,
                        uint64_t window_offset, int64_t timeout_ns) {
  return api_call<ssize_t>(-1, [&](Library& library) -> Result<ssize_t> {
    auto reader = PeerReader::on(library, socket, timeout_ns);
    if (!reader) return failure(reader.error());
    if (window_offset % alignof(exs_window_t) != 0 || length == 0)
      return failure(refuse(EINVAL,
                            "the length is {} and the window's offset {}: at least 1, and a multiple of {}",
                            length, window_offset, alignof(exs_window_t)));
    const Piece into{static_cast<std::byte*>(buffer), length, region};
    const Status status = WindowReader(*reader, window_offset).snapshot(into, offset);
    if (!status.ok()) return failure(status);
    reader->count_snapshot();
    return static_cast<ssize_t>(length);
  });
}
