// SPDX-License-Identifier: BSD-2-Clause
#include "src/boot/launcher_boot.h"

#include <array>
#include <cstdio>
#include <optional>

#include "base/refusal.h"
#include "src/log/log.h"

namespace exs::boot {
namespace {

Status refuse_line() {
  return refuse(EPROTO, "exs-run says what means nothing here: is it of another version of exs?");
}

Status refuse_receive(Status status) {
  if (status == Status(EPROTO)) return refuse_line();
  if (status == Status(ECONNRESET))
    return refuse(ECONNRESET, "exs-run, which started this process, has gone");
  return status;
}

}  // namespace

// The cards of an exchange, as they come.
class LauncherBoot::Cards {
 public:
  explicit Cards(int size) : by_rank_(static_cast<std::size_t>(size)), missing_(size) {}

  [[nodiscard]] bool complete() const { return missing_ == 0; }
  // False: there is no such rank, or it has one already.
  bool put(int rank, std::string_view card) {
    if (rank < 0 || by_rank_[static_cast<std::size_t>(rank)]) return false;
    by_rank_[static_cast<std::size_t>(rank)] = card;
    --missing_;
    return true;
  }
  std::vector<std::string> take() {
    std::vector<std::string> cards;
    cards.reserve(by_rank_.size());
    for (std::optional<std::string>& card : by_rank_) cards.push_back(std::move(*card));
    return cards;
  }

 private:
  std::vector<std::optional<std::string>> by_rank_;
  int missing_;
};

// The process may go on, and others must not wait for it.
LauncherBoot::~LauncherBoot() {
  if (!has_left_) static_cast<void>(lines_.send("lost\n"));
}

Result<std::vector<std::string>> LauncherBoot::exchange(const std::string& card) {
  if (!is_card(card)) return failure(refuse(EINVAL, "the card is too long, or has a line's end"));
  if (const Status sent = lines_.send("card " + card + "\n"); !sent.ok())
    return failure(refuse_receive(sent));
  Cards cards(size());
  while (!cards.complete()) {
    const Result<std::string> line = lines_.receive();
    if (!line) return failure(refuse_receive(line.error()));
    if (take_death(*line)) continue;
    std::string_view rest = *line;
    const bool is_one = take_word(rest) == "card";
    const int rank = rank_of(take_word(rest));
    if (!is_one || !cards.put(rank, rest)) return failure(refuse_line());
  }
  return cards.take();
}

std::vector<int> LauncherBoot::deaths() {
  while (is_told_) {
    const Result<std::string> line = lines_.receive_now();
    if (line && take_death(*line)) continue;
    if (!line && line.error() == Status(EAGAIN)) break;
    // Lines behind it cannot be distinguished from damage.
    if (line || line.error() == Status(EPROTO))
      static_cast<void>(fault(LogLevel::kWarn, EPROTO, "rank {}: exs-run says what means nothing", rank()));
    is_told_ = false;
  }
  return std::exchange(deaths_, {});
}

// Without exs-run there is no recipient.
void LauncherBoot::leave() noexcept {
  has_left_ = true;
  static_cast<void>(lines_.send("leave\n"));
}

void LauncherBoot::abort(int code) noexcept {
  std::array<char, 32> line;
  const int length = std::snprintf(line.data(), line.size(), "abort %d\n", code);
  static_cast<void>(lines_.send({line.data(), static_cast<std::size_t>(length)}));
}

bool LauncherBoot::take_death(std::string_view line) {
  if (take_word(line) != "death") return false;
  const int rank = rank_of(line);
  if (rank >= 0) deaths_.push_back(rank);
  return rank >= 0;
}

int LauncherBoot::rank_of(std::string_view word) const noexcept {
  const int rank = number_of(word);
  return rank < size() ? rank : -1;
}

}  // namespace exs::boot
