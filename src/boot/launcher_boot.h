// The boot of a process that exs-run has started.
//
// The process inherits one end of a socketpair, whose number is in EXM_BOOT_FD. EXM_RANK and EXM_SIZE are its rank and the job's
// size. The socket carries lines of text. A rank and a code are decimal, a key is 32 hexadecimal digits, a card is anything to
// the line's end.
//
// | from       | line            | meaning |
// | ---------- | --------------- | ------- |
// | exs-run    | job 2 KEY HOSTS | the first line: version of these lines, the job's key, and its number of hosts |
// | exs-run    | card RANK CARD  | one for each rank, when all have published a card or have ended; the card of an ended rank is empty |
// | exs-run    | death RANK      | that rank has ended, or is lost, and had not left |
// | process    | card CARD       | publishes its card |
// | process    | leave           | leaves the job in order |
// | process    | lost            | gives its boot up, and had not left |
// | process    | abort CODE      | ends the whole job |
//
// The closing of the socket means nothing: a process is dead when it has ended, and exs-run knows how.
// A process that cannot become its program sends `unexecuted ERRNO`, a line between exs-run and itself.
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/unique_fd.h"
#include "src/boot/boot.h"
#include "src/boot/lines.h"

namespace exs::boot {

inline constexpr int kLaunchVersion = 2;

// See find_boot().
Result<std::unique_ptr<Boot>> find_launcher();

class LauncherBoot : public Boot {
 public:
  LauncherBoot(const JobPlace& place, Lines lines) : Boot(place), lines_(std::move(lines)) {}
  ~LauncherBoot() override;

  Result<std::vector<std::string>> exchange(const std::string& card) override;
  [[nodiscard]] int descriptor() const noexcept override { return is_told_ ? lines_.descriptor() : -1; }
  std::vector<int> deaths() override;
  void leave() noexcept override;
  void abort(int code) noexcept override;

 private:
  class Cards;

  // Returns false for another line.
  bool take_death(std::string_view line);
  [[nodiscard]] int rank_of(std::string_view word) const noexcept;

  Lines lines_;
  std::vector<int> deaths_;  // not reported to the caller yet
  bool has_left_ = false;
  bool is_told_ = true;  // exs-run is there, and its lines are valid
};

}  // namespace exs::boot
