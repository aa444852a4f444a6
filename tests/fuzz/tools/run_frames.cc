// What the two ends of exs-run say to each other over a pipe, what processes of the job say, and lists of hosts.
// SPDX-License-Identifier: BSD-2-Clause
#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/unique_fd.h"
#include "tests/fuzz/fuzz.h"
#include "tools/common/failure.h"
#include "tools/run/channel.h"
#include "tools/run/exchange.h"
#include "tools/run/frames.h"
#include "tools/run/host_list.h"

namespace exs::fuzz::run_frames {

void write_some(int descriptor, const std::string& text) {
  [[maybe_unused]] const ssize_t written = ::write(descriptor, text.data(), text.size());
}

std::string any_frame(Input& input) {
  static constexpr std::array<const char*, 8> kWords{"job",   "line", "heard", "tell",
                                                     "alive", "out",  "ended", "x"};
  const std::string bytes = input.text(input.below(40));
  const std::uint64_t length = input.one_in(4) ? input.near(bytes.size()) : bytes.size();
  return std::string(input.pick(kWords)) + " " + std::to_string(length) + "\n" + bytes;
}

void take_words(std::string_view text) {
  for (int words = 0; words < 20 && !text.empty(); ++words) {
    const std::size_t before = text.size();
    if (words % 2 == 0) {
      static_cast<void>(run::take_number(text));
    } else {
      static_cast<void>(run::take_word(text));
    }
    hold(text.size() <= before, "a word is taken off");
  }
}

void receive_frames(Input& input) {
  int to_us[2];
  int from_us[2];
  hold(::pipe2(to_us, O_CLOEXEC | O_NONBLOCK) == 0 && ::pipe2(from_us, O_CLOEXEC | O_NONBLOCK) == 0, "pipes");
  run::FrameChannel channel{exs::UniqueFd(to_us[0]), exs::UniqueFd(from_us[1])};
  const exs::UniqueFd peer_out(to_us[1]), peer_in(from_us[0]);
  for (int steps = 0; steps < 40 && !input.has_ended() && channel.is_open(); ++steps) {
    write_some(peer_out.get(), input.one_in(3) ? input.text(input.below(60)) : any_frame(input));
    for (const run::Frame& frame : channel.receive()) take_words(frame.bytes);
    if (input.one_in(4)) channel.send("alive", input.text(input.below(30)));
  }
}

void receive_lines(Input& input) {
  int ends[2];
  hold(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends) == 0, "socketpair");
  run::Channel channel{exs::UniqueFd(ends[0])};
  const exs::UniqueFd peer(ends[1]);
  run::Exchange exchange(3);
  for (int steps = 0; steps < 40 && !input.has_ended() && channel.is_open(); ++steps) {
    write_some(peer.get(), input.text(input.below(80)) + (input.one_in(2) ? "\n" : ""));
    for (const std::string& line : channel.receive()) {
      hold(line.find('\n') == std::string::npos, "a line is one");
      static_cast<void>(exchange.put(input.below(3), line));
      if (input.one_in(4)) exchange.leave_out(input.below(3));
      static_cast<void>(exchange.take_complete());
    }
  }
}

void read_hosts(Input& input) {
  try {
    const auto hosts = run::parse_hosts(input.text(input.below(100)));
    static_cast<void>(run::filled(hosts, input.below(20)));
  } catch (const tools::Failure&) {
    // The list is wrong, and the user reads why.
  }
}

}  // namespace exs::fuzz::run_frames

EXS_FUZZ_TARGET(run_frames) {
  using namespace exs::fuzz::run_frames;
  switch (input.below(3)) {
    case 0: return receive_frames(input);
    case 1: return receive_lines(input);
    default: return read_hosts(input);
  }
}
