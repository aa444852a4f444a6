// exm_group_create and exm_group_barrier: the ranks of a group as a tree, along which a word goes up to the first one and back.
// SPDX-License-Identifier: BSD-2-Clause
#include <algorithm>
#include <array>
#include <vector>

#include "src/message/arguments.h"
#include "src/message/ep.h"

namespace exs {
namespace {

// Contexts of groups come in pairs: one for the group's messages, and the next for its barriers.
constexpr std::uint64_t kFirstContext = std::uint64_t{1} << 30U;
constexpr int kBarrierTag = 0;

// The message along an edge of the tree: the greatest context so far, or the first error.
struct Word {
  std::int32_t error = 0;
  std::int32_t context = 0;
};

Word combined(const Word& one, const Word& other) noexcept {
  if (one.error != 0) return one;
  return other.error != 0 || other.context > one.context ? other : one;
}

// The place `i` has those of 2i+1 and 2i+2 below it.
class Tree {
 public:
  Tree(Endpoint& endpoint, const int* ranks, int size, int place, std::uint64_t bits)
      : endpoint_(endpoint), ranks_(ranks), size_(size), place_(place), bits_(bits) {}

  // Returns the combined words of all. Every place sends something to its neighbours, whatever it received,
  // so no rank waits in vain for a live one.
  [[nodiscard]] Word agree(Word all) const {
    for (const int below : below_this()) {
      if (below < size_) all = combined(all, hear(below));
    }
    if (place_ > 0) {
      const int above = (place_ - 1) / 2;
      say(above, all);
      all = hear(above);
    }
    for (const int below : below_this()) {
      if (below < size_) say(below, all);
    }
    return all;
  }

 private:
  [[nodiscard]] std::array<int, 2> below_this() const { return {2 * place_ + 1, 2 * place_ + 2}; }
  [[nodiscard]] std::uint32_t rank_of(int place) const { return static_cast<std::uint32_t>(ranks_[place]); }

  // A failed send means that the rank has ended. Ranks that wait for its word notice that.
  void say(int place, const Word& word) const {
    const Buffer from{.address = reinterpret_cast<std::byte*>(const_cast<Word*>(&word)),
                      .bytes = sizeof word,
                      .pieces = {}};
    proto::Label label;
    label.bits = bits_;
    if (const auto sent = endpoint_.send(rank_of(place), label, from, {})) finish(*sent, nullptr);
  }

  [[nodiscard]] Word hear(int place) const {
    Word word;
    match::Criteria criteria;
    criteria.source = rank_of(place);
    criteria.bits = bits_;
    exm_status_t status{};
    const Buffer into{.address = reinterpret_cast<std::byte*>(&word), .bytes = sizeof word, .pieces = {}};
    const int error = finish(endpoint_.receive(criteria, into, {}), &status);
    if (error == 0 && status.length == sizeof word) return word;
    return {error == 0 || error == EMSGSIZE ? EPROTO : error, 0};
  }

  // The errno of a request, when it has ended.
  int finish(exm_request_t started, exm_status_t* status) const {
    if (started == 0) return 0;
    Request* const request = endpoint_.find(started);
    while (!endpoint_.wait({&request, 1}, 1, -1).ok()) continue;
    return endpoint_.take_status(*request, status);
  }

  Endpoint& endpoint_;
  const int* ranks_;
  const int size_;
  const int place_;
  const std::uint64_t bits_;
};

Status status_of(const Word& agreed) {
  if (agreed.error == EPROTO)
    return refuse(EPROTO, "another message had the tag with which the ranks of a group agree");
  return Status(agreed.error);
}

// The place of this process among the ranks. EINVAL.
Result<int> place_in(const Endpoint& endpoint, const int* ranks, int size) {
  const auto job = std::int64_t{endpoint.size()};
  const int own = static_cast<int>(endpoint.options().number);
  if (size < 1 || size > job)
    return failure(refuse(EINVAL, "a group of {}: the job has {} ranks", size, job));
  if (ranks == nullptr) return failure(null_argument());
  std::vector<int> sorted(ranks, ranks + size);
  std::sort(sorted.begin(), sorted.end());
  if (sorted.front() < 0 || sorted.back() >= job)
    return failure(refuse(EINVAL, "a group of rank {}: the job has {}, from 0 on",
                          sorted.front() < 0 ? sorted.front() : sorted.back(), job));
  if (const auto twice = std::adjacent_find(sorted.begin(), sorted.end()); twice != sorted.end())
    return failure(refuse(EINVAL, "rank {} is in the group twice", *twice));
  const int* const found = std::find(ranks, ranks + size, own);
  if (found == ranks + size)
    return failure(refuse(EINVAL, "this process, rank {}, is not in the group", own));
  return static_cast<int>(found - ranks);
}

// Each rank has contexts of its own to propose, so the greatest of all proposals is that of one rank, for one group.
class Proposals {
 public:
  explicit Proposals(exm_ep& ep)
      : rounds_(ep.group_rounds), size_(ep.endpoint->size()), rank_(ep.endpoint->options().number) {}

  [[nodiscard]] Word next() {
    const std::uint64_t round = rounds_.fetch_add(1, std::memory_order_relaxed);
    const std::uint64_t context = kFirstContext + 2 * (round * size_ + rank_);
    if (context > INT32_MAX) return {ENOSPC, 0};
    return {0, static_cast<std::int32_t>(context)};
  }
  // Makes this rank's next proposals greater.
  void pass(std::int32_t context) {
    const std::uint64_t beyond = (static_cast<std::uint64_t>(context) - kFirstContext) / (2 * size_) + 1;
    std::uint64_t round = rounds_.load(std::memory_order_relaxed);
    while (round < beyond && !rounds_.compare_exchange_weak(round, beyond, std::memory_order_relaxed))
      continue;
  }

 private:
  std::atomic<std::uint64_t>& rounds_;
  const std::uint64_t size_;
  const std::uint64_t rank_;
};

Result<int> create(exm_ep& ep, const int* ranks, int size, int parent, int tag, exm_group_t& group) {
  Endpoint& endpoint = *ep.endpoint;
  if (!endpoint.options().has_ranks)
    return failure(refuse(EOPNOTSUPP, "groups are of ranks, and the endpoints of exm_open have none"));
  const auto place = place_in(endpoint, ranks, size);
  if (!place) return failure(place.error());
  if (const Status status = check_send(endpoint, ranks[0], tag, parent, 0); !status.ok())
    return failure(status);
  Proposals proposals(ep);
  const Word agreed = Tree(endpoint, ranks, size, *place, bits_of(tag, parent)).agree(proposals.next());
  if (agreed.error == ENOSPC)
    return failure(refuse(ENOSPC, "the job has had as many groups as there can be"));
  if (agreed.error == 0 && static_cast<std::uint64_t>(agreed.context) < kFirstContext)
    return failure(status_of({EPROTO, 0}));
  if (const Status status = status_of(agreed); !status.ok()) return failure(status);
  proposals.pass(agreed.context);
  group = {.ranks = ranks, .size = size, .rank = *place, .context = agreed.context, .reserved = 0};
  return 0;
}

bool is_group_of(const Endpoint& endpoint, const exm_group_t& group) noexcept {
  return group.ranks != nullptr && group.size > 0 && group.rank >= 0 && group.rank < group.size &&
         group.ranks[group.rank] == static_cast<int>(endpoint.options().number) &&
         static_cast<std::uint64_t>(group.context) >= kFirstContext && group.context % 2 == 0;
}

Result<int> barrier(Endpoint& endpoint, const exm_group_t& group) {
  if (!is_group_of(endpoint, group))
    return failure(refuse(EINVAL, "this is no group that exm_group_create has made for this endpoint"));
  const std::uint64_t bits = bits_of(kBarrierTag, group.context + 1);
  const Tree tree(endpoint, group.ranks, group.size, group.rank, bits);
  return api_result(status_of(tree.agree({})));
}

}  // namespace
}  // namespace exs

using namespace exs;

int exm_group_create(exm_ep_t ep, const int* ranks, int size, int parent, int tag, exm_group_t* group) {
  return message_call(ep, [&](Endpoint& /*endpoint*/) -> Result<int> {
    if (group == nullptr) return failure(null_argument());
    return create(*ep, ranks, size, parent, tag, *group);
  });
}

int exm_group_barrier(exm_ep_t ep, const exm_group_t* group) {
  return message_call(ep, [&](Endpoint& endpoint) -> Result<int> {
    if (group == nullptr) return failure(null_argument());
    return barrier(endpoint, *group);
  });
}
