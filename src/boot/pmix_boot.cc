// SPDX-License-Identifier: BSD-2-Clause
#include "src/boot/pmix_boot.h"

#ifdef EXS_WITHOUT_PMIX

namespace exs::boot {

Result<std::unique_ptr<Boot>> find_pmix() {
  return nullptr;
}

}  // namespace exs::boot

#else

#include <atomic>
#include <cstdlib>
#include <cstring>
#include <span>
#include <string>
#include <utility>

#include "base/hex.h"
#include "base/kernel.h"
#include "base/random.h"
#include "base/refusal.h"
#include "src/boot/pmix_deaths.h"
#include "src/boot/pmix_library.h"

namespace exs::boot {
namespace {

pmix_info_t yes(const char* key) noexcept {
  pmix_info_t info{};
  std::strncpy(info.key, key, PMIX_MAX_KEYLEN);
  info.value.type = PMIX_BOOL;
  info.value.data.flag = true;
  return info;
}

// Publishes texts and gets those of the others, by rank. Each round has its own name.
class Pmix {
 public:
  Pmix(const PmixLibrary& library, const pmix_proc_t& self) : library_(library), self_(self) {}

  [[nodiscard]] const PmixLibrary& library() const noexcept { return library_; }
  [[nodiscard]] const pmix_proc_t& self() const noexcept { return self_; }

  // A number of the job, from the server. 0: the server does not know it.
  [[nodiscard]] std::uint32_t number(const char* key) const {
    pmix_proc_t all = self_;
    all.rank = PMIX_RANK_WILDCARD;
    pmix_value_t* value = nullptr;
    if (library_.get(&all, key, nullptr, 0, &value) != PMIX_SUCCESS || value == nullptr) return 0;
    const std::uint32_t number = value->type == PMIX_UINT32 ? value->data.uint32 : 0;
    std::free(value);
    return number;
  }

  // Publishes the text, and waits until all have.
  Status put(const std::string& text) {
    name_ = "exs." + std::to_string(++round_);
    pmix_value_t value{};
    value.type = PMIX_STRING;
    value.data.string = const_cast<char*>(text.c_str());  // which it copies
    pmix_status_t status = library_.put(PMIX_GLOBAL, name_.c_str(), &value);
    if (status == PMIX_SUCCESS) status = library_.commit();
    return status == PMIX_SUCCESS ? fence() : failed(status);
  }
  // Gets the text that the rank has published in this round.
  [[nodiscard]] Result<std::string> get(int rank) const {
    pmix_proc_t other = self_;
    other.rank = static_cast<pmix_rank_t>(rank);
    pmix_value_t* value = nullptr;
    const pmix_status_t status = library_.get(&other, name_.c_str(), nullptr, 0, &value);
    if (status != PMIX_SUCCESS || value == nullptr) return failure(failed(status));
    std::string text;
    if (value->type == PMIX_STRING && value->data.string != nullptr) {
      text = value->data.string;
      std::free(value->data.string);
    }
    std::free(value);
    return text;
  }

  [[nodiscard]] static Status failed(pmix_status_t status) {
    const bool is_gone = status == PMIX_ERR_UNREACH || status == PMIX_ERR_LOST_CONNECTION;
    return refuse(is_gone ? ECONNRESET : EPROTO, "PMIx, by which this process was started, fails with {}",
                  status);
  }

 private:
  Status fence() const {
    pmix_proc_t all = self_;
    all.rank = PMIX_RANK_WILDCARD;
    const pmix_info_t collect = yes(PMIX_COLLECT_DATA);
    const pmix_status_t status = library_.fence(&all, 1, &collect, 1);
    return status == PMIX_SUCCESS ? Status() : failed(status);
  }

  const PmixLibrary library_;
  const pmix_proc_t self_;
  std::string name_;
  unsigned round_ = 0;
};

class PmixBoot final : public Boot {
 public:
  PmixBoot(const JobPlace& place, std::unique_ptr<Pmix> pmix)
      : Boot(place), pmix_(std::move(pmix)), deaths_(PmixDeaths::of_process()) {}

  // PMIx has no message for a process that gives its boot up and goes on. The others find that it listens no
  // more.
  ~PmixBoot() override { leave(); }

  Result<std::vector<std::string>> exchange(const std::string& card) override {
    if (!is_card(card)) return failure(refuse(EINVAL, "the card is too long, or has a line's end"));
    if (const Status put = pmix_->put(card); !put.ok()) return failure(put);
    std::vector<std::string> cards;
    for (int rank = 0; rank < size(); ++rank) {
      auto other = pmix_->get(rank);
      if (!other) return failure(other.error());
      cards.push_back(std::move(*other));
    }
    return cards;
  }

  [[nodiscard]] int descriptor() const noexcept override { return deaths_.descriptor(); }
  std::vector<int> deaths() override { return deaths_.take(); }

  void leave() noexcept override {
    if (!std::exchange(has_left_, true)) close();
  }
  void abort(int code) noexcept override {
    static_cast<void>(pmix_->library().abort(code, "exm_abort", nullptr, 0));
  }

 private:
  // MPI may go on using the library, which counts its users.
  void close() noexcept {
    deaths_.stop(pmix_->library());
    static_cast<void>(pmix_->library().finalize(nullptr, 0));
  }

  const std::unique_ptr<Pmix> pmix_;
  PmixDeaths& deaths_;
  bool has_left_ = false;
};

// Rank 0 draws it.
Result<JobKey> agree_on_key(Pmix& pmix) {
  JobKey key{};
  const bool draws = pmix.self().rank == 0;
  if (draws) {
    if (const Status drawn = fill_randomly(std::as_writable_bytes(std::span(key))); !drawn.ok())
      return failure(drawn);
  }
  if (const Status put = pmix.put(draws ? hex_of(std::as_bytes(std::span(key))) : "-"); !put.ok())
    return failure(put);
  const auto digits = pmix.get(0);
  if (!digits) return failure(digits.error());
  if (!read_hex(*digits, std::as_writable_bytes(std::span(key))))
    return failure(refuse(EPROTO, "rank 0 has published what is no key: is it of another version of exs?"));
  return key;
}

Result<std::unique_ptr<Boot>> join(std::unique_ptr<Pmix> pmix) {
  JobPlace place;
  place.rank = static_cast<int>(pmix->self().rank);
  place.size = static_cast<int>(pmix->number(PMIX_JOB_SIZE));
  if (place.size <= place.rank)
    return failure(refuse(EPROTO, "PMIx says that this is rank {} of {}", place.rank, place.size));
  if (static_cast<int>(pmix->number(PMIX_LOCAL_SIZE)) < place.size) place.hosts = 2;  // at least
  PmixDeaths::of_process().start(pmix->library(), pmix->self());
  const auto key = agree_on_key(*pmix);
  if (!key) return failure(key.error());
  place.key = *key;
  return std::make_unique<PmixBoot>(place, std::move(pmix));
}

std::atomic<bool> is_found{false};

}  // namespace

Result<std::unique_ptr<Boot>> find_pmix() {
  if (std::getenv("PMIX_NAMESPACE") == nullptr || std::getenv("PMIX_RANK") == nullptr) return nullptr;
  if (is_found.exchange(true)) return nullptr;
  PmixLibrary library{};
  if (!library.open())
    return failure(
        refuse(EPROTO, "this process was started by PMIx, and libpmix.so.2 cannot be opened: install it"));
  pmix_proc_t self{};
  const pmix_status_t status = library.init(&self, nullptr, 0);
  auto pmix = std::make_unique<Pmix>(library, self);
  if (status != PMIX_SUCCESS) return failure(pmix->failed(status));
  return join(std::move(pmix));
}

}  // namespace exs::boot
#endif
