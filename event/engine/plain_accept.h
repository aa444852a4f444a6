// Takes connections off a listening socket of the application, which may be in blocking mode, shared with
// other processes, and emptied by them in between: a plain accept4 could then wait for ever, with the drive
// lock held, and the mode must not be changed, because all who share the socket share it.
#pragma once

#include <memory>

#include "src/base/status.h"

struct io_uring;

namespace exs {

// An io_uring takes the request whatever the mode and gives it back when nobody is there. Without one
// (`ring_allowed`, or the kernel refuses) it is poll and accept4, and a blocking listening socket must have
// no other acceptor.
// Thread: shard.
class PlainAccept {
 public:
  explicit PlainAccept(bool ring_allowed);
  ~PlainAccept();
  PlainAccept(const PlainAccept&) = delete;
  PlainAccept& operator=(const PlainAccept&) = delete;

  // A descriptor, close-on-exec and in blocking mode, as accept(2) makes them; EAGAIN; an errno of accept4.
  Result<int> accept(int listening);

 private:
  bool ring_is_there();
  Result<int> accept_through_ring(int listening);
  // The result of the accept once it has one.
  bool reap(int& result);

  bool ring_allowed_;
  std::unique_ptr<io_uring> ring_;  // opened by the first accept that needs it
};

}  // namespace exs
