// SPDX-License-Identifier: BSD-2-Clause
#include "tools/top/stats_reader.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstring>
#include <sstream>
#include <type_traits>
#include <utility>

namespace top {
namespace {

using exs::stats::ConnectionRecord;
using exs::stats::PageHead;

// Somebody who changes a record all the time is not waited for.
constexpr int kTriesMax = 8;

const std::string& link_target() {
  static const std::string target = std::string("/memfd:") + exs::stats::kFileName + " (deleted)";
  return target;
}

// In words of 64 bits, each in one piece, as the owner writes them.
template <typename Value>
Value copy_of_shared(const std::byte* shared) {
  static_assert(sizeof(Value) % sizeof(std::uint64_t) == 0);
  std::array<std::uint64_t, sizeof(Value) / sizeof(std::uint64_t)> words;
  const auto* const from = reinterpret_cast<const std::uint64_t*>(shared);
  for (std::size_t i = 0; i < words.size(); ++i) words[i] = __atomic_load_n(from + i, __ATOMIC_RELAXED);
  Value copy;
  static_assert(std::is_trivially_copyable_v<Value>);
  std::memcpy(static_cast<void*>(&copy), words.data(), sizeof copy);
  return copy;
}

// A copy in which what `changes` guards belongs together. Empty: it changes all the time.
template <typename Value>
std::optional<Value> steady_copy(const std::byte* shared, std::size_t changes_at) {
  const auto* const changes = reinterpret_cast<const std::uint32_t*>(shared + changes_at);
  for (int tries = 0; tries < kTriesMax; ++tries) {
    const std::uint32_t before = __atomic_load_n(changes, __ATOMIC_ACQUIRE);
    Value copy = copy_of_shared<Value>(shared);
    std::atomic_thread_fence(std::memory_order_acquire);
    if (before % 2 == 0 && __atomic_load_n(changes, __ATOMIC_RELAXED) == before) return copy;
  }
  return {};
}

bool is_right(const ConnectionRecord& record) {
  return record.kind > exs::stats::ConnectionKind::kNone &&
         record.kind <= exs::stats::ConnectionKind::kPlain && record.state <= exs::stats::State::kEnded;
}

std::vector<ShownError> errors_of(const PageHead& head) {
  std::vector<ShownError> errors;
  for (const exs::stats::ErrorLine& error : head.errors) {
    if (error.count != 0)
      errors.push_back({error.count, error.first_ns, error.last_ns, error.error, printable(error.text)});
  }
  std::sort(errors.begin(), errors.end(),
            [](const ShownError& one, const ShownError& other) { return one.last_ns > other.last_ns; });
  return errors;
}

// Its size is for ever, so that reading it cannot fail; only a file in memory has seals.
bool is_sealed(int file) {
  constexpr int kSeals = F_SEAL_SHRINK | F_SEAL_GROW;
  const int seals = ::fcntl(file, F_GET_SEALS);
  struct stat status {};
  return seals >= 0 && (seals & kSeals) == kSeals && ::fstat(file, &status) == 0 &&
         status.st_size == static_cast<off_t>(exs::stats::kPageBytes);
}

// The number by which a process knows itself, in the innermost of its namespaces. 0: it has gone.
int own_number_of(const tools::ProcFolder& folder) {
  constexpr std::string_view kName = "NSpid:";
  std::string status;
  folder.read("status", status);
  std::istringstream lines(status);
  int number = 0;
  for (std::string line; std::getline(lines, line);) {
    if (!line.starts_with(kName)) continue;
    std::istringstream numbers(line.substr(kName.size()));
    while (numbers >> number) continue;
  }
  return number;
}

// Another version of the page is none that this program can read. A child may hold the descriptor of its parent's.
bool is_page_of(const tools::ProcFolder& folder, const PageHead& head) {
  return head.magic == exs::stats::kMagic && head.head_bytes == exs::stats::kHeadBytes &&
         head.record_bytes == sizeof(ConnectionRecord) && head.records_max == exs::stats::kRecordsMax &&
         head.process == own_number_of(folder);
}

}  // namespace

bool StatsReader::is_page(std::string_view target) {
  return target == link_target();
}

std::optional<StatsReader> StatsReader::map(const tools::ProcFolder& folder, int descriptor) {
  const exs::UniqueFd file = folder.open_descriptor(descriptor);
  if (!file.valid() || !is_sealed(file.get())) return {};
  void* const start = ::mmap(nullptr, exs::stats::kPageBytes, PROT_READ, MAP_SHARED, file.get(), 0);
  if (start == MAP_FAILED) return {};
  StatsReader reader(static_cast<const std::byte*>(start), descriptor);
  if (!is_page_of(folder, copy_of_shared<PageHead>(reader.start_))) return {};
  return reader;
}

StatsReader::StatsReader(StatsReader&& other) noexcept
    : start_(std::exchange(other.start_, nullptr)), descriptor_(other.descriptor_) {}

StatsReader& StatsReader::operator=(StatsReader&& other) noexcept {
  std::swap(start_, other.start_);
  std::swap(descriptor_, other.descriptor_);
  return *this;
}

StatsReader::~StatsReader() {
  if (start_ != nullptr) ::munmap(const_cast<std::byte*>(start_), exs::stats::kPageBytes);
}

bool StatsReader::is_there(const tools::ProcFolder& folder) const {
  return folder.link("fd/" + std::to_string(descriptor_)) == link_target();
}

Snapshot StatsReader::read() const {
  Snapshot snapshot;
  const PageHead head = copy_of_shared<PageHead>(start_);
  snapshot.version = printable(head.version);
  snapshot.began_ns = head.began_ns;
  snapshot.opened = head.opened;
  snapshot.closed = head.closed;
  if (const auto steady = steady_copy<PageHead>(start_, offsetof(PageHead, error_changes)))
    snapshot.errors = errors_of(*steady);
  const std::uint32_t used = std::min(head.records_used, exs::stats::kRecordsMax);
  for (std::uint32_t place = 0; place < used; ++place) {
    const std::byte* const shared = start_ + exs::stats::kHeadBytes + place * sizeof(ConnectionRecord);
    const auto record = steady_copy<ConnectionRecord>(shared, offsetof(ConnectionRecord, changes));
    if (record && is_right(*record)) snapshot.connections.push_back({place, *record});
  }
  return snapshot;
}

}  // namespace top
