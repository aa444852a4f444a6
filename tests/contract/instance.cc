// SPDX-License-Identifier: BSD-2-Clause
#include "tests/contract/instance.h"

#include <cstdint>
#include <cstdlib>
#include <map>
#include <memory>

#include "src/provider/iwarp/settings.h"
#include "src/provider/shm/settings.h"
#include "src/provider/shm/shm.h"
#include "src/provider/sim/settings.h"
#include "src/provider/sim/sim.h"
#include "src/provider/verbs/verbs.h"

namespace exs::contract {
namespace {

constexpr std::uint32_t kSegmentPayload = 1436;

std::unique_ptr<Provider> make_provider(int variant) {
  const std::string_view name = provider_under_test();
  if (name == "iwarp") {
    iwarp::Settings settings = iwarp::settings_from_environment();
    settings.want_crc = (variant & 1) != 0;
    if ((variant & 2) != 0) settings.payload_max = kSegmentPayload;  // as strangers cut
    return iwarp::make_iwarp_provider(settings);
  }
  if (name == "shm") return shm::make_shm_provider(shm::settings_from_environment());
  if (name == "sim") {
    sim::Settings settings;
    settings.virtual_clock = false;
    settings.delay_min_ns = settings.delay_max_ns = 0;
    if ((variant & 1) != 0) settings.delay_max_ns = 5'000;
    if ((variant & 2) != 0) {
      settings.late = {1, true};
      settings.pieces = {2, true};
      settings.reorder = false;
    }
    return sim::make_sim_provider(settings);
  }
  require(name == "verbs", "EXS_PROVIDER is iwarp, shm, sim or verbs");
  return verbs::make_verbs_provider();
}

}  // namespace

std::string_view provider_under_test() {
  const char* const name = std::getenv("EXS_PROVIDER");
  if (name == nullptr) return "fake";
  return std::string_view(name).substr(0, std::string_view(name).find(':'));
}

int variants() {
  const std::string_view name = provider_under_test();
  return name == "iwarp" || name == "sim" ? 4 : name == "shm" ? 2 : 1;
}

Provider& provider_of(int variant) {
  static auto* const made = new std::map<int, std::unique_ptr<Provider>>;
  std::unique_ptr<Provider>& provider = (*made)[variant];
  if (!provider) provider = make_provider(variant);
  return *provider;
}

}  // namespace exs::contract
