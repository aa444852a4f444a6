// exm_init, exm_finalize and the queries about the job.
// SPDX-License-Identifier: BSD-2-Clause
#include <netinet/in.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <string>
#include <tuple>

#include "base/contain.h"
#include "base/socket_address.h"
#include "base/undo.h"
#include "src/api/label.h"
#include "src/message/card.h"
#include "src/message/ep.h"
#include "src/message/start.h"

namespace exs {
namespace {

constexpr std::uint64_t kFinalizeNs = 10'000'000'000;

Status check_job(const exm_config_t& config) {
  if (config.struct_bytes != sizeof config)
    return refuse(EINVAL, "struct_bytes is {}, and exm_config_t has {}", config.struct_bytes, sizeof config);
  constexpr int kSizeMax = 1 << 20;
  if (config.size < 1 || config.size > kSizeMax || config.rank < 0 || config.rank >= config.size)
    return refuse(EINVAL, "rank {} of {}", config.rank, config.size);
  if (config.size > 1 && config.addresses == nullptr) return null_argument();
  if (config.eager_bytes > kEagerMax)
    return refuse(EINVAL, "eager_bytes is {}, and at most {}", config.eager_bytes, kEagerMax);
  return Status();
}

// All ranks are known beforehand.
Result<exm_ep_t> join_listed(Library& library, const exm_config_t& config) {
  if (const Status status = check_job(config); !status.ok()) return failure(status);
  std::vector<PeerName> peers(static_cast<std::size_t>(config.size));
  const bool is_alone = config.size == 1;
  for (int rank = 0; rank < config.size && !is_alone; ++rank) {
    const auto address = address_of(config.addresses[rank], rank);
    if (!address) return failure(address.error());
    peers[static_cast<std::size_t>(rank)].address = *address;
  }
  const sockaddr_storage& own = peers[static_cast<std::size_t>(config.rank)].address;
  auto prepared = prepare(library, config, config.size, is_alone ? nullptr : &own);
  if (!prepared) return failure(prepared.error());
  prepared->options.peers = std::move(peers);
  prepared->options.session.wishes.introduction.job_size = static_cast<std::uint32_t>(config.size);
  auto made = std::make_unique<exm_ep>();  // an endpoint that has started has to be closed
  auto endpoint = start(library, std::move(*prepared));
  if (!endpoint) return failure(endpoint.error());
  made->endpoint = std::move(*endpoint);
  return made.release();
}

exm_config_t config_of(int rank, int size) {
  exm_config_t config{};
  config.struct_bytes = sizeof config;
  config.rank = rank;
  config.size = size;
  return config;
}

// Returns the names of all ranks after their exchange. A job of one has no known address.
Result<std::vector<PeerName>> exchange_names(boot::Boot& boot, const Socket* listening) {
  std::string card = "-";
  if (listening != nullptr) {
    const auto address = own_address(*listening);
    if (!address) return failure(address.error());
    auto made = make_card(ntohs(port_of(*address)), boot.hosts() > 1);
    if (!made) return failure(made.error());
    card = std::move(*made);
  }
  const auto cards = boot.exchange(card);
  if (!cards) return failure(cards.error());
  if (listening == nullptr) return std::vector<PeerName>(1);
  const auto addresses = addresses_on(*cards);
  if (!addresses) return failure(addresses.error());
  std::vector<PeerName> names(addresses->size());
  for (std::size_t rank = 0; rank < names.size(); ++rank) names[rank].address = (*addresses)[rank];
  return names;
}

// Reports ranks that have ended, first those that already have. Null: none will.
std::shared_ptr<DescriptorWatch> watch_deaths(const std::shared_ptr<Endpoint>& endpoint,
                                              const std::shared_ptr<boot::Boot>& boot) {
  const auto tell = [boot, known = std::weak_ptr<Endpoint>(endpoint)] {
    const std::vector<int> ranks = boot->deaths();
    if (const auto self = known.lock()) {
      for (const int rank : ranks) self->note_death(static_cast<std::uint32_t>(rank));
    }
    return boot->descriptor() >= 0;
  };
  bool goes_on = false;
  endpoint->shard()->carry_out([&] { goes_on = tell(); });
  return goes_on ? DescriptorWatch::start(endpoint->shard(), boot->descriptor(), tell) : nullptr;
}

// The ranks exchange their addresses through what started them.
Result<exm_ep_t> join_started(Library& library, std::shared_ptr<boot::Boot> boot) {
  exm_config_t config = config_of(boot->rank(), boot->size());
  std::memcpy(config.key, boot->key().data(), sizeof config.key);
  const sockaddr_storage own = listening_address(boot->hosts() > 1);
  auto prepared = prepare(library, config, config.size, config.size == 1 ? nullptr : &own);
  if (!prepared) return failure(prepared.error());
  auto names = exchange_names(*boot, prepared->listening.get());
  if (!names) return failure(names.error());
  prepared->options.peers = std::move(*names);
  prepared->options.session.wishes.introduction.job_size = static_cast<std::uint32_t>(config.size);
  auto made = std::make_unique<exm_ep>();
  auto endpoint = start(library, std::move(*prepared));
  if (!endpoint) return failure(endpoint.error());
  // An endpoint that has started has to be closed.
  Undo leave([&] { contain([&] { std::ignore = made->endpoint->finalize(0); }, [] {}); });
  made->endpoint = std::move(*endpoint);
  made->boot = std::move(boot);
  made->launcher = watch_deaths(made->endpoint, made->boot);
  leave.cancel();
  return made.release();
}

Result<exm_ep_t> join(Library& library, const exm_config_t* config) {
  if (config != nullptr) return join_listed(library, *config);
  auto boot = boot::find_boot();
  if (!boot) return failure(boot.error());
  if (*boot == nullptr) return join_listed(library, config_of(0, 1));
  return join_started(library, std::move(*boot));
}

}  // namespace
}  // namespace exs

using namespace exs;

int exm_init(const exm_config_t* config, exm_ep_t* ep) {
  return create_ep(ep, [config](Library& library) { return join(library, config); });
}

int exm_rank(exm_ep_t ep) {
  return message_call(
      ep, [](Endpoint& endpoint) -> Result<int> { return static_cast<int>(endpoint.options().number); });
}

int exm_size(exm_ep_t ep) {
  return message_call(ep,
                      [](Endpoint& endpoint) -> Result<int> { return static_cast<int>(endpoint.size()); });
}

int exm_finalize(exm_ep_t ep) {
  const int outcome =
      message_call(ep, [](Endpoint& endpoint) { return api_result(endpoint.finalize(kFinalizeNs)); });
  if (ep == nullptr) return outcome;
  const int error = errno;
  if (ep->launcher) ep->launcher->stop();
  if (ep->boot) ep->boot->leave();
  delete ep;
  exs_fini();
  errno = error;
  return outcome;
}

int exm_abort(exm_ep_t ep, int code) {
  if (ep != nullptr && ep->boot) ep->boot->abort(code);
  _exit(code);
}

int exm_failed(exm_ep_t ep, int* ranks, int room) {
  return message_call(ep, [&](Endpoint& endpoint) -> Result<int> {
    if (room < 0 || (room > 0 && ranks == nullptr)) return failure(null_argument());
    const std::vector<int> failed = endpoint.acknowledge_failures();
    std::copy_n(failed.begin(), std::min(failed.size(), static_cast<std::size_t>(room)), ranks);
    return static_cast<int>(failed.size());
  });
}

int exm_set_label(exm_ep_t ep, const char* label) {
  return message_call(ep, [&](Endpoint& endpoint) -> Result<int> {
    if (label == nullptr) return failure(null_argument());
    if (const Status status = check_label(label); !status.ok()) return failure(status);
    endpoint.set_label(label);
    return 0;
  });
}

int exm_stats(exm_ep_t ep, exm_stats_t* stats) {
  return message_call(ep, [&](Endpoint& endpoint) -> Result<int> {
    if (stats == nullptr) return failure(null_argument());
    *stats = {};
    endpoint.count(*stats);
    return 0;
  });
}
