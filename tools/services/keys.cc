// The commands of keys and capabilities. They contact nobody.
// SPDX-License-Identifier: BSD-2-Clause
#include <array>
#include <cerrno>
#include <cinttypes>
#include <cstdio>
#include <ctime>
#include <memory>
#include <sstream>

#include "tools/common/failure.h"
#include "tools/common/json.h"
#include "tools/common/run_info.h"
#include "tools/services/services.h"

namespace services {
namespace {

using tools::Json;
using Key = std::unique_ptr<exs_svc_key_t, decltype(&exs_svc_key_free)>;

constexpr double kMsPerDay = 86'400'000;

struct Right {
  const char* name;
  std::uint32_t bit;
};
constexpr Right kRights[] = {{"send", EXS_SVC_SEND},
                             {"stats", EXS_SVC_STATS},
                             {"request", EXS_SVC_REQUEST},
                             {"long", EXS_SVC_LONG},
                             {"return", EXS_SVC_RETURN}};

std::uint32_t rights_of(const std::string& words) {
  if (words == "all") return EXS_SVC_ALL;
  std::uint32_t rights = 0;
  std::istringstream list(words);
  for (std::string word; std::getline(list, word, ',');) {
    std::uint32_t bit = 0;
    for (const Right& right : kRights)
      if (word == right.name) bit = right.bit;
    if (bit == 0)
      throw tools::UsageError("--rights: \"" + word + "\" is not one of send, stats, request, long, return");
    rights |= bit;
  }
  if (rights == 0) throw tools::UsageError("--rights names no right");
  return rights;
}

std::vector<std::string> names_of(std::uint32_t rights) {
  std::vector<std::string> names;
  for (const Right& right : kRights)
    if ((rights & right.bit) != 0) names.emplace_back(right.name);
  return names;
}

Key load(const std::string& path) {
  Key key(exs_svc_key_load(path.c_str()), exs_svc_key_free);
  if (key == nullptr) fail(path);
  return key;
}

exs_svc_id_t id_of(const Key& key) {
  exs_svc_id_t id{};
  if (exs_svc_key_id(key.get(), &id) != 0) fail("the key");
  return id;
}

int print_id(const Settings& settings, const exs_svc_id_t& id) {
  if (!settings.json) {
    std::printf("%s\n", text_of(id).c_str());
    return 0;
  }
  Json::Object out = tools::begin_results("exs-services");
  out.emplace_back("file", settings.words.front());
  out.emplace_back("id", text_of(id));
  tools::print_json(out);
  return 0;
}

std::int64_t now_ms() {
  std::timespec now{};
  std::timespec_get(&now, TIME_UTC);
  return static_cast<std::int64_t>(now.tv_sec) * 1000 + now.tv_nsec / 1'000'000;
}

exs_svc_cap_t make_capability(const Settings& settings) {
  const std::uint32_t rights = rights_of(settings.rights);
  const Key key = load(settings.words.front());
  const std::int64_t expires_ms =
      settings.days > 0 ? now_ms() + static_cast<std::int64_t>(settings.days * kMsPerDay) : 0;
  exs_svc_cap_t cap{};
  if (exs_svc_cap_make(key.get(), rights, settings.serial, expires_ms, &cap) != 0) fail("cannot make it");
  return cap;
}

void print_json(const exs_svc_cap_t& cap, const char* text) {
  Json::Object out = tools::begin_results("exs-services");
  out.emplace_back("capability", text);
  out.emplace_back("id", text_of(cap.id));
  out.emplace_back("rights", tools::array_of(names_of(cap.rights)));
  out.emplace_back("serial", cap.serial);
  out.emplace_back("expires", cap.expires_ms == 0 ? Json() : Json(date_of(cap.expires_ms)));
  tools::print_json(out);
}

void print(const exs_svc_cap_t& cap) {
  std::printf("%s, serial %" PRIu32 ", expires %s, rights:", text_of(cap.id).c_str(), cap.serial,
              cap.expires_ms == 0 ? "never" : date_of(cap.expires_ms).c_str());
  for (const std::string& name : names_of(cap.rights)) std::printf(" %s", name.c_str());
  std::printf("\n");
}

}  // namespace

int make_key(const Settings& settings) {
  const Key key(exs_svc_key_create(), exs_svc_key_free);
  const std::string& path = settings.words.front();
  if (key == nullptr || exs_svc_key_store(key.get(), path.c_str()) != 0) fail(path);
  return print_id(settings, id_of(key));
}

int print_id(const Settings& settings) {
  return print_id(settings, id_of(load(settings.words.front())));
}

int make_or_print_capability(const Settings& settings) {
  const std::optional<std::string> given = cap_text_of(settings.words.front());
  exs_svc_cap_t cap{};
  if (!given) {
    cap = make_capability(settings);
  } else if (exs_svc_cap_parse(given->c_str(), &cap) != 0) {
    fail("the capability");
  }
  std::array<char, EXS_SVC_CAP_TEXT> text{};
  exs_svc_cap_text(&cap, text.data());
  if (settings.json) {
    print_json(cap, text.data());
  } else if (given) {
    print(cap);
  } else {
    std::printf("%s\n", text.data());
  }
  return 0;
}

}  // namespace services
