// The handshake of iWARP: frames in any pieces, and what is answered.
// SPDX-License-Identifier: BSD-2-Clause
#include "src/provider/iwarp/mpa.h"

#include <numeric>

#include "tests/fuzz/fuzz.h"

namespace exs::fuzz::iwarp_mpa {

using iwarp::MpaCollector;

void answer(const iwarp::MpaFrame& frame, Input& input) {
  unsigned sum = 0;
  for (const std::byte byte : frame.private_data) sum += static_cast<unsigned>(byte);
  static_cast<void>(sum);
  hold(frame.private_data.size() <= iwarp::kMpaPrivateMax, "the private data fit");
  if (frame.role != iwarp::MpaRole::kRequest) return;
  iwarp::MpaFrame reply = iwarp::reply_to(frame, input.one_in(2), 16, 16);
  reply.private_data =
      frame.private_data.first(std::min<std::size_t>(frame.private_data.size(), iwarp::kUserPrivateMax));
  hold(iwarp::encode_mpa(reply).length > 0, "a reply is encoded");
  hold(iwarp::encode_mpa(iwarp::rejection_of(frame)).length > 0, "a rejection is encoded");
}

}  // namespace exs::fuzz::iwarp_mpa

EXS_FUZZ_TARGET(iwarp_mpa) {
  using namespace exs::fuzz;
  using exs::iwarp::MpaCollector;
  MpaCollector collector(input.one_in(2) ? exs::iwarp::MpaRole::kRequest : exs::iwarp::MpaRole::kReply);
  while (!input.has_ended()) {
    const auto piece = input.bytes(1 + input.below(64));
    const auto room = collector.room();
    const std::size_t count = std::min(piece.size(), room.size());
    if (count == 0) break;
    std::copy_n(piece.begin(), count, room.begin());
    const auto progress = collector.filled(count);
    if (progress == MpaCollector::Progress::kComplete) return iwarp_mpa::answer(collector.frame(), input);
    if (progress == MpaCollector::Progress::kBad) {
      static_cast<void>(collector.beginning());
      return hold(collector.problem() != nullptr, "a bad frame has a problem");
    }
  }
}
