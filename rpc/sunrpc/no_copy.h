// Opaque data that are used inside their message. Thread: any.
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstddef>
#include <span>

namespace exs::rpc {

// While it lives, data that this thread decodes may point into the message.
class DecodedMessage {
 public:
  explicit DecodedMessage(std::span<const std::byte> message);
  ~DecodedMessage();
  DecodedMessage(const DecodedMessage&) = delete;
  DecodedMessage& operator=(const DecodedMessage&) = delete;

 private:
  std::span<const std::byte> outer_;
};

}  // namespace exs::rpc
