// The commands that send a message or a request, and print the reply.
// SPDX-License-Identifier: BSD-2-Clause
#include <cerrno>
#include <cstdio>
#include <utility>

#include "tools/common/failure.h"
#include "tools/common/json.h"
#include "tools/common/run_info.h"
#include "tools/services/item_text.h"
#include "tools/services/services.h"

namespace services {
namespace {

using tools::Json;

constexpr int kStatusOfService = 3;  // the exit status if the service replies with a status that is not 0

// The items of the message that the user wrote behind the name.
class Items {
 public:
  explicit Items(const Settings& settings) {
    for (std::size_t i = 1; i < settings.words.size(); ++i) {
      const std::string& word = settings.words[i];
      bytes_.push_back(settings.hex ? bytes_of_hex(word) : word);
    }
    for (std::string& each : bytes_) items_.push_back({each.data(), each.size()});
  }
  [[nodiscard]] const exs_svc_item_t* data() const { return items_.data(); }
  [[nodiscard]] int count() const { return static_cast<int>(items_.size()); }

 private:
  std::vector<std::string> bytes_;
  std::vector<exs_svc_item_t> items_;
};

// The parts of a reply, together.
struct Reply {
  int error = 0;
  std::int32_t status = 0;
  std::vector<std::string> items;
  std::vector<std::string> longs;
};

void add(std::vector<std::string>& texts, const exs_svc_item_t* items, std::uint32_t count, bool hex) {
  for (std::uint32_t i = 0; i < count; ++i) {
    const std::string bytes(static_cast<const char*>(items[i].data), items[i].length);
    texts.push_back(hex ? hex_of(bytes) : printable(bytes));
  }
}

// Returns false if another part follows.
bool take(const exs_svc_event_t& event, bool hex, Reply& reply) {
  reply.error = event.error;
  reply.status = event.status;
  if (event.message != nullptr) {
    add(reply.items, event.message->items, event.message->items_count, hex);
    add(reply.longs, event.message->longs, event.message->longs_count, hex);
  }
  exs_svc_release(event.message);
  return event.error != 0 || (event.flags & EXS_SVC_MORE) == 0;
}

Reply ask(const Settings& settings, const exs_svc_id_t& id, const Items& items) {
  Client client(settings, id);
  exs_svc_request_options_t options{};
  options.struct_bytes = sizeof options;
  options.limit_ns = client.longest_wait_ns();
  if (exs_svc_request(client.peer(), items.data(), items.count(), nullptr, 0, &options, nullptr) != 0)
    fail("cannot send the request");
  Reply reply;
  for (bool is_whole = false; !is_whole;) {
    const auto event = client.wait();
    if (!event) return {ETIMEDOUT, 0, {}, {}};
    if (event->type == EXS_SVC_EVT_REPLY) is_whole = take(*event, settings.hex, reply);
  }
  return reply;
}

// A service accepts messages of a peer in order, and answers a ping behind them after them. Returns an errno value.
int send(const Settings& settings, const exs_svc_id_t& id, const Items& items) {
  Client client(settings, id);
  if (exs_svc_send_short(client.peer(), items.data(), items.count()) != 0) fail("cannot send the message");
  if (exs_svc_ping(client.peer()) != 0) fail("cannot ping behind the message");
  for (;;) {
    const auto event = client.wait();
    if (!event) return ETIMEDOUT;
    if (event->type == EXS_SVC_EVT_PONG) return 0;
    if (event->type == EXS_SVC_EVT_RESTART) return EOWNERDEAD;
    if (event->error != 0) return event->error;
  }
}

}  // namespace

int send_message(const Settings& settings) {
  const Items items(settings);
  const std::string& name = settings.words.front();
  const exs_svc_id_t id = find(settings, name);
  if (const int error = send(settings, id, items); error != 0)
    throw tools::Failure(name + ": " + words_of(error, id));
  if (!settings.json) return 0;
  Json::Object out = tools::begin_results("exs-services");
  out.emplace_back("name", name);
  out.emplace_back("id", text_of(id));
  out.emplace_back("accepted", true);
  tools::print_json(out);
  return 0;
}

int make_request(const Settings& settings) {
  const Items items(settings);
  const std::string& name = settings.words.front();
  const exs_svc_id_t id = find(settings, name);
  const Reply reply = ask(settings, id, items);
  if (reply.error != 0) throw tools::Failure(name + ": " + words_of(reply.error, id));
  if (settings.json) {
    Json::Object out = tools::begin_results("exs-services");
    out.emplace_back("name", name);
    out.emplace_back("id", text_of(id));
    out.emplace_back("status", reply.status);
    out.emplace_back("items", tools::array_of(reply.items));
    out.emplace_back("longs", tools::array_of(reply.longs));
    tools::print_json(out);
  } else {
    for (const std::string& item : reply.items) std::printf("%s\n", item.c_str());
    for (const std::string& item : reply.longs) std::printf("%s\n", item.c_str());
    if (reply.status != 0) std::fprintf(stderr, "exs-services: %s: status %d\n", name.c_str(), reply.status);
  }
  return reply.status == 0 ? 0 : kStatusOfService;
}

}  // namespace services
