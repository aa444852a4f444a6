// The statistics page of this process (base/stats_page.h), as its owner sees it. Each connection has a record of it, and counts there.
//
// Design notes
//  1. The page costs no call: counters are stored where they would be stored without it. Another process sees them although this one is
//     stopped, spins or has no thread to answer.
//  2. The page is sealed: nobody else can write it, and its size is for ever. A child of fork() has neither memory nor descriptor.
//  3. What cannot be had is done without: without a file the page is memory of this process alone, and a connection without a record of
//     the page has one of its own.
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "base/locks.h"
#include "base/stats_page.h"
#include "base/unique_fd.h"

namespace exs {

// Thread: any.
class StatsPage {
 public:
  // `is_public`: other processes may read it. Null without memory.
  static std::shared_ptr<StatsPage> create(bool is_public, std::string_view version) noexcept;
  ~StatsPage();
  StatsPage(const StatsPage&) = delete;
  StatsPage& operator=(const StatsPage&) = delete;

  // An empty record of nobody else. Null: there is none left. Throws std::bad_alloc.
  [[nodiscard]] stats::ConnectionRecord* take_record() EXS_EXCLUDES(mutex_);
  // Adds its counters to those of closed connections.
  void give_back(stats::ConnectionRecord& record) noexcept EXS_EXCLUDES(mutex_);
  // In a child, which has not the memory: closes the descriptor.
  void leave_to_parent() noexcept;
  // Counts an error that has ended a connection.
  void note_error(int error, std::string_view text) noexcept EXS_EXCLUDES(mutex_);

 private:
  StatsPage(std::byte* start, UniqueFd file, std::uint64_t inode) noexcept;
  [[nodiscard]] bool has_file() const noexcept;
  [[nodiscard]] stats::PageHead& head() const noexcept { return *reinterpret_cast<stats::PageHead*>(start_); }
  [[nodiscard]] stats::ConnectionRecord* records() const noexcept {
    return reinterpret_cast<stats::ConnectionRecord*>(start_ + stats::kHeadBytes);
  }

  std::byte* const start_;
  UniqueFd file_;  // remains open, for others to find
  const std::uint64_t inode_;
  Mutex mutex_;
  std::vector<std::uint32_t> free_ EXS_GUARDED_BY(mutex_);  // with room for all that have been used
};

// The record of one connection. Thread: the owner's; the counters, as they say.
class StatsRecord {
 public:
  // `page`: null for a record of nobody's page. Throws std::bad_alloc.
  StatsRecord(const std::shared_ptr<StatsPage>& page, stats::ConnectionKind kind, int socket);
  ~StatsRecord();
  StatsRecord(const StatsRecord&) = delete;
  StatsRecord& operator=(const StatsRecord&) = delete;

  [[nodiscard]] stats::Counters& counters() noexcept { return record_->counters; }
  [[nodiscard]] const stats::Counters& counters() const noexcept { return record_->counters; }
  void set_state(stats::State state) noexcept;
  void set_label(std::string_view label) noexcept;
  // What carries the connection, between which addresses, and which faster way was refused, and why.
  struct ConnectionWay {
    std::string_view carrier;
    sockaddr_storage ours{}, peers{};
    std::string_view refused;  // empty: nothing was
    std::uint8_t reason = 0;
    std::string_view fact;
  };
  void set_way(const ConnectionWay& way) noexcept;
  void note_error(int error, std::string_view text) const noexcept {
    if (page_) page_->note_error(error, text);
  }

 private:
  template <typename Change>
  void change(Change&& change) noexcept;

  const std::shared_ptr<StatsPage> page_;
  std::unique_ptr<stats::ConnectionRecord> own_;  // where the page has none left
  stats::ConnectionRecord* record_;
};

}  // namespace exs
