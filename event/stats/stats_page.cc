// SPDX-License-Identifier: BSD-2-Clause
#include "event/stats/stats_page.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cctype>
#include <cerrno>
#include <cstring>
#include <ctime>
#include <new>
#include <utility>

#include "base/kernel.h"
#include "base/memory_file.h"

#ifndef F_SEAL_FUTURE_WRITE
#define F_SEAL_FUTURE_WRITE 0x0010
#endif

namespace exs {
namespace {

constexpr int kSizeSeals = F_SEAL_SHRINK | F_SEAL_GROW;

std::uint64_t date_ns() noexcept {
  constexpr std::uint64_t kNsPerSecond = 1'000'000'000;
  timespec now{};
  kernel::clock_gettime(CLOCK_REALTIME, &now);
  return static_cast<std::uint64_t>(now.tv_sec) * kNsPerSecond + static_cast<std::uint64_t>(now.tv_nsec);
}

template <std::size_t size>
void set_text(char (&text)[size], std::string_view to) noexcept {
  std::fill(std::copy_n(to.begin(), std::min(size - 1, to.size()), text), std::end(text), '\0');
}

// Others see that something changes before they see any of it, and all of it before they see that it is over.
template <typename Change>
void change_visibly(std::uint32_t& changes, Change&& change) noexcept {
  const std::atomic_ref<std::uint32_t> count(changes);
  count.fetch_add(1, std::memory_order_acq_rel);
  std::forward<Change>(change)();
  count.fetch_add(1, std::memory_order_release);
}

// A number in a text, as of a port or a descriptor, does not make it another error.
bool differ_in_digits_alone(std::string_view one, std::string_view other) noexcept {
  const auto skip_number = [](std::string_view& text) {
    const auto is_digit = [](char letter) { return std::isdigit(static_cast<unsigned char>(letter)) != 0; };
    text.remove_prefix(
        static_cast<std::size_t>(std::find_if_not(text.begin(), text.end(), is_digit) - text.begin()));
  };
  for (skip_number(one), skip_number(other); !one.empty() && !other.empty();
       skip_number(one), skip_number(other)) {
    if (one.front() != other.front()) return false;
    one.remove_prefix(1);
    other.remove_prefix(1);
  }
  return one.empty() && other.empty();
}

void add(stats::Counters& sum, const stats::Counters& part) noexcept {
  std::uint64_t sums[stats::kCounters];
  std::uint64_t parts[stats::kCounters];
  std::memcpy(sums, &sum, sizeof sums);
  std::memcpy(parts, &part, sizeof parts);
  for (std::size_t i = 0; i < stats::kCounters; ++i) sums[i] += parts[i];
  std::memcpy(&sum, sums, sizeof sum);
}

// The program needs those that are left more.
bool are_descriptors_scarce(int last) noexcept {
  constexpr rlim_t kSpare = 64;
  rlimit files{};
  return kernel::getrlimit(RLIMIT_NOFILE, &files) == 0 && static_cast<rlim_t>(last) + kSpare > files.rlim_cur;
}

// Not valid: there is none, or it could be written by others.
UniqueFd create_file() noexcept {
  UniqueFd file = create_memory_file(stats::kFileName);
  if (!file.valid() || are_descriptors_scarce(file.get()) ||
      kernel::ftruncate(file.get(), static_cast<off_t>(stats::kPageBytes)) != 0 ||
      kernel::fcntl(file.get(), F_ADD_SEALS, kSizeSeals) != 0) {
    file.reset();
  }
  return file;
}

// Maps so that mlockall() of a program neither fills the memory nor locks it. Null: there is none.
std::byte* map(int flags, const UniqueFd& file) noexcept {
  void* const start = kernel::mmap(nullptr, stats::kPageBytes, PROT_NONE, flags, file.get(), 0);
  if (start == MAP_FAILED) return nullptr;
  kernel::munlock(start, stats::kPageBytes);
  kernel::madvise(start, stats::kPageBytes, MADV_DONTFORK);
  if (kernel::mprotect(start, stats::kPageBytes, PROT_READ | PROT_WRITE) == 0)
    return static_cast<std::byte*>(start);
  kernel::munmap(start, stats::kPageBytes);
  return nullptr;
}

// No other process can write the file afterwards.
std::byte* map_file(const UniqueFd& file) noexcept {
  std::byte* const start = map(MAP_SHARED, file);
  if (start == nullptr || kernel::fcntl(file.get(), F_ADD_SEALS, F_SEAL_FUTURE_WRITE | F_SEAL_SEAL) == 0)
    return start;
  kernel::munmap(start, stats::kPageBytes);
  return nullptr;
}

// 0, and errno: the kernel does not say.
std::uint64_t inode_of(const UniqueFd& file) noexcept {
  struct stat status {};
  return kernel::fstat(file.get(), &status) == 0 ? status.st_ino : 0;
}

}  // namespace

std::shared_ptr<StatsPage> StatsPage::create(bool is_public, std::string_view version) noexcept {
  UniqueFd file = is_public ? create_file() : UniqueFd();
  const std::uint64_t inode = file.valid() ? inode_of(file) : 0;
  std::byte* start = inode != 0 ? map_file(file) : nullptr;
  if (start == nullptr) {
    file.reset();
    start = map(MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, file);
  }
  if (start == nullptr) return nullptr;
  StatsPage* const made = new (std::nothrow) StatsPage(start, std::move(file), inode);
  if (made == nullptr) {
    kernel::munmap(start, stats::kPageBytes);
    return nullptr;
  }
  set_text(made->head().version, version);
  try {
    return std::shared_ptr<StatsPage>(made);
  } catch (const std::bad_alloc&) {
    return nullptr;  // and it has been deleted
  }
}

StatsPage::StatsPage(std::byte* start, UniqueFd file, std::uint64_t inode) noexcept
    : start_(start), file_(std::move(file)), inode_(inode) {
  stats::PageHead& head = *new (start_) stats::PageHead;
  head.head_bytes = stats::kHeadBytes;
  head.record_bytes = sizeof(stats::ConnectionRecord);
  head.records_max = stats::kRecordsMax;
  head.process = kernel::getpid();
  head.began_ns = date_ns();
  std::atomic_ref<std::uint64_t>(head.magic).store(stats::kMagic, std::memory_order_release);
}

StatsPage::~StatsPage() {
  kernel::munmap(start_, stats::kPageBytes);
  if (!has_file()) static_cast<void>(file_.release());
}

void StatsPage::leave_to_parent() noexcept {
  if (has_file()) file_.reset();
}

// The program may have closed the descriptor, whose number may be another file's.
bool StatsPage::has_file() const noexcept {
  if (!file_.valid()) return false;
  const std::uint64_t inode = inode_of(file_);
  return inode == inode_ || (inode == 0 && errno != EBADF);
}

stats::ConnectionRecord* StatsPage::take_record() {
  LockGuard guard(mutex_);
  std::uint32_t& used = head().records_used;
  if (free_.empty()) {
    if (used == stats::kRecordsMax) return nullptr;
    if (free_.capacity() <= used) free_.reserve(2 * std::size_t{used} + 1);
    new (records() + used) stats::ConnectionRecord;
    free_.push_back(used);
    std::atomic_ref<std::uint32_t>(used).store(used + 1, std::memory_order_release);
  }
  stats::ConnectionRecord& record = records()[free_.back()];
  free_.pop_back();
  ++head().opened;
  return &record;
}

void StatsPage::give_back(stats::ConnectionRecord& record) noexcept {
  LockGuard guard(mutex_);
  add(head().closed, record.counters);
  change_visibly(record.changes, [&record] {
    const std::uint32_t changes = record.changes;
    record = {};
    record.changes = changes;
  });
  free_.push_back(static_cast<std::uint32_t>(&record - records()));
}

void StatsPage::note_error(int error, std::string_view text) noexcept {
  LockGuard guard(mutex_);
  auto& errors = head().errors;
  const auto is_same = [&](const stats::ErrorLine& known) {
    return known.count != 0 && known.error == error &&
           differ_in_digits_alone(known.text, text.substr(0, sizeof known.text - 1));
  };
  const auto is_older = [](const stats::ErrorLine& one, const stats::ErrorLine& other) {
    return one.last_ns < other.last_ns;
  };
  auto* line = std::find_if(std::begin(errors), std::end(errors), is_same);
  change_visibly(head().error_changes, [&] {
    const std::uint64_t now_ns = date_ns();
    if (line == std::end(errors)) {
      line = std::min_element(std::begin(errors), std::end(errors), is_older);
      *line = {.count = 0, .first_ns = now_ns, .last_ns = now_ns, .error = error, .text = {}};
    }
    ++line->count;
    line->last_ns = now_ns;
    set_text(line->text, text);
  });
}

// ---------------------------------------------------------------- a record

StatsRecord::StatsRecord(const std::shared_ptr<StatsPage>& page, stats::ConnectionKind kind, int socket)
    : page_(page), record_(page ? page->take_record() : nullptr) {
  if (record_ == nullptr) record_ = (own_ = std::make_unique<stats::ConnectionRecord>()).get();
  change([&](stats::ConnectionRecord& record) {
    record.kind = kind;
    record.socket = socket;
    record.opened_ns = date_ns();
  });
}

StatsRecord::~StatsRecord() {
  if (!own_) page_->give_back(*record_);
}

template <typename Change>
void StatsRecord::change(Change&& change) noexcept {
  change_visibly(record_->changes, [&] { std::forward<Change>(change)(*record_); });
}

void StatsRecord::set_state(stats::State state) noexcept {
  std::atomic_ref<stats::State>(record_->state).store(state, std::memory_order_relaxed);
}

void StatsRecord::set_label(std::string_view label) noexcept {
  change([&](stats::ConnectionRecord& record) { set_text(record.label, label); });
}

void StatsRecord::set_way(const ConnectionWay& way) noexcept {
  change([&](stats::ConnectionRecord& record) {
    set_text(record.carrier, way.carrier);
    set_text(record.refused, way.refused);
    set_text(record.fact, way.fact);
    record.reason = way.reason;
    record.ours = compact(way.ours);
    record.peers = compact(way.peers);
  });
}

}  // namespace exs
