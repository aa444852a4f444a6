// exs-run --agent: starts processes of a job here for an exs-run elsewhere, and relays their lines and output (frames.h).
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tools/run/frames.h"
#include "tools/run/local_host.h"
#include "tools/run/signals.h"

namespace run {

class Agent final : HostEvents, OutputSink {
 public:
  // Takes the standard input and output as the connection.
  Agent();
  // Returns the exit status when the job or the connection has ended.
  int run();

 private:
  void step();
  [[nodiscard]] int patience_ms() const;
  void take_signals();
  // Returns false if the frame is invalid.
  bool obey(const Frame& frame);
  bool obey_before_start(const Frame& frame);
  bool begin(std::string_view words);
  void start(const Ranks& ranks);
  bool tell(std::string_view bytes);
  bool obey_numbers(const std::string& word, std::string_view bytes);
  void take_input(const std::string& bytes);
  void pass_input();

  // HostEvents
  void heard(std::size_t rank, const std::string& line) override;
  void ended(std::size_t rank, int wait_status) override;
  void lost(Host& host, const std::string& why) override;
  void cannot_start(Host& host, int exit_status, const std::string& why) override;

  // OutputSink
  void add(Stream stream, std::string lines) override;
  [[nodiscard]] bool has_room() const override;
  [[nodiscard]] bool is_read(Stream stream) const override;

  FrameChannel channel_;
  Signals signals_;
  exs::UniqueFd input_;  // for rank 0
  LocalHost host_;
  Program program_;
  Pulse pulse_;
  std::vector<pollfd> watched_;
  bool has_job_ = false;
  bool has_started_ = false;
  bool can_start_ = true;
  bool is_held_ = false;
  bool is_unread_[3] = {};
  bool is_finished_ = false;
  bool is_ended_ = false;  // by a signal
  std::optional<std::string> input_waiting_;
};

}  // namespace run
