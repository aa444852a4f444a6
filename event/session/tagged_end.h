// The owner of a connection without a socket of the application: the endpoint of tagged messages
// (event/message/).
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include "base/status.h"
#include "src/proto/connection.h"

namespace exs {

// Thread: shard. Nothing here may call back into the session.
class TaggedEnd : public proto::Inbox {
 public:
  // Connecting side: the connection is ready. On the accepting side, IncomingSetup reports that.
  virtual void connected() = 0;
  virtual void completed(const proto::Operation& operation, const proto::Outcome& outcome) = 0;
  // The peer sends nothing more and takes nothing more. Once.
  virtual void left() = 0;
  // The last call. Ok: the connection was closed.
  virtual void ended(Status why) = 0;

 protected:
  ~TaggedEnd() = default;
};

}  // namespace exs
