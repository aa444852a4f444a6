// Starts clients and lives of the service, ends those at random moments, and measures how soon clients resume.
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <exs/service.h>

#include <memory>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "perf/service_check/holdings.h"
#include "perf/service_check/networks.h"
#include "perf/service_check/shared.h"
#include "perf/service_check/verdict.h"
#include "tools/common/child_process.h"
#include "tools/common/histogram.h"

namespace service_check {

// The way a life ends.
enum class End : std::uint32_t { kKill, kStop, kCut };

struct Settings {
  End end = End::kKill;
  std::uint32_t kills = 100;
  std::uint32_t seed = 1;
  Sabotage sabotage = Sabotage::kNone;
};

class Referee {
 public:
  explicit Referee(const Settings& settings);
  ~Referee();
  Referee(const Referee&) = delete;
  Referee& operator=(const Referee&) = delete;

  // Throws tools::Failure for a broken promise.
  void run();
  // The times to the first reply of each client: from exs_svc_open() of a life, and from the end of the life before it.
  [[nodiscard]] const tools::Histogram& since_open() const { return since_open_; }
  [[nodiscard]] const tools::Histogram& since_end() const { return since_end_; }
  [[nodiscard]] const Verdict& verdict() const { return verdict_; }

 private:
  struct Life {
    Shared<Ledger> ledger;
    std::optional<Host> host;
    std::optional<tools::ChildProcess> process;
    ~Life();
    void signal(int signal) const;
    void end();
  };

  void start_clients();
  void start_life();
  void end_life();
  void bury(std::unique_ptr<Life> life);
  template <typename Predicate>
  bool wait_for(Predicate is_so);
  void wait_until_heard();
  void note_times();
  void rest();
  void go_on() { ++board_->phase; }
  void compare_holdings();
  void finish();
  std::uint32_t choose(std::uint32_t below) { return static_cast<std::uint32_t>(random_() % below); }

  const Settings settings_;
  const std::unique_ptr<exs_svc_key_t, decltype(&exs_svc_key_free)> key_;
  std::mt19937 random_;
  Shared<Board> board_;
  std::string names_;  // a file
  std::vector<std::unique_ptr<tools::ChildProcess>> clients_;
  std::vector<Holdings> held_;  // of each client, at rest, in the first life
  std::vector<std::string> abstract_names_;
  std::unique_ptr<Life> life_;
  std::unique_ptr<Life> vanished_;
  std::uint64_t ended_ns_ = 0;  // the life before
  Verdict verdict_;
  tools::Histogram since_open_;
  tools::Histogram since_end_;
};

}  // namespace service_check
