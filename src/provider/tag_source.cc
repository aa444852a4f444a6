// SPDX-License-Identifier: BSD-2-Clause
#include "src/provider/tag_source.h"

#include <sys/random.h>

#include <bit>
#include <cerrno>
#include <cstring>

#include "base/kernel.h"
#include "base/random.h"
#include "src/log/log.h"

namespace exs {
namespace {

struct SipState {
  std::uint64_t v0, v1, v2, v3;

  void round() noexcept {
    v0 += v1;
    v1 = std::rotl(v1, 13) ^ v0;
    v0 = std::rotl(v0, 32);
    v2 += v3;
    v3 = std::rotl(v3, 16) ^ v2;
    v0 += v3;
    v3 = std::rotl(v3, 21) ^ v0;
    v2 += v1;
    v1 = std::rotl(v1, 17) ^ v2;
    v2 = std::rotl(v2, 32);
  }

  void take(std::uint64_t word) noexcept {
    v3 ^= word;
    round();
    round();
    v0 ^= word;
  }
};

}  // namespace

Result<TagKey> draw_tag_key() {
  auto key = draw<TagKey>();
  if (!key) return failure(fault(LogLevel::kError, EIO, "getrandom failed: {}", std::strerror(errno)));
  return key;
}

std::uint64_t TagSource::at(std::uint64_t number) const noexcept {
  SipState state{key_[0] ^ 0x736f6d6570736575, key_[1] ^ 0x646f72616e646f6d, key_[0] ^ 0x6c7967656e657261,
                 key_[1] ^ 0x7465646279746573};
  state.take(number);
  state.take(std::uint64_t{sizeof number} << 56);
  state.v2 ^= 0xff;
  for (int i = 0; i < 4; ++i) state.round();
  return state.v0 ^ state.v1 ^ state.v2 ^ state.v3;
}

}  // namespace exs
