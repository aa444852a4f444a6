// A service by name, of coroutines. With a key file, which it makes if there is none, the program is the service: it prints its ID, and
// answers each request by its text in capitals. With an ID, or a name of /etc/exs/services, and texts it is a client: it asks about all
// texts at once, and prints the answers in their order.
// SPDX-License-Identifier: BSD-2-Clause
#include <cctype>
#include <cstdio>
#include <string>
#include <vector>

#include "exs/service.hpp"

namespace {

namespace ex = exs::cpp;

std::string in_capitals(std::string_view text) {
  std::string capitals(text);
  for (char& letter : capitals) letter = static_cast<char>(std::toupper(static_cast<unsigned char>(letter)));
  return capitals;
}

ex::Task<> serve(const ex::ServiceNode& node, const std::string& path) {
  const ex::ServiceKey key = ex::ServiceKey::load_or_create(path);
  const ex::Service service(node, key);
  (co_await service.opened()).value();
  std::printf("%s\n", key.id().text().c_str());
  std::fflush(stdout);
  for (;;) {
    const ex::ServiceMessage request = (co_await service.next()).value();
    if (request.is_request()) co_await request.reply(in_capitals(request.text(0)));
  }
}

// An idempotent request is sent again if the service starts again meanwhile.
ex::Task<> ask(const ex::ServicePeer& peer, std::string text, std::string& answer) {
  const ex::ServiceReply reply =
      co_await peer.request(text, {.limit = std::chrono::seconds(60), .idempotent = true});
  answer = reply.value().text(0);
}

void ask_all(ex::Loop& loop, const ex::ServiceNode& node, const std::string& name,
             const std::vector<std::string>& texts) {
  std::vector<std::string> answers(texts.size());
  const ex::ServicePeer peer(node, ex::ServiceId::find(name));
  for (std::size_t i = 0; i < texts.size(); ++i) loop.spawn(ask(peer, texts[i], answers[i]));
  loop.run();
  for (const std::string& answer : answers) std::printf("%s\n", answer.c_str());
}

constexpr char help[] =
    "usage: service_coroutine KEY-FILE\n"
    "       service_coroutine ID TEXT...\n"
    "With KEY-FILE, which it makes if there is none, it is a service that answers each text in\n"
    "capitals. With ID, or a name of /etc/exs/services, it asks about each TEXT.\n"
    "The exit status is 0, 1 after an error, or 2 if the arguments are invalid.\n";

}  // namespace

int main(int argc, char** argv) {
  const std::vector<std::string> words(argv + 1, argv + argc);
  if (words == std::vector<std::string>{"--help"}) return std::fputs(help, stdout) < 0 ? 1 : 0;
  if (words.empty()) return std::fputs(help, stderr), 2;
  try {
    ex::Loop loop;
    const ex::ServiceNode node(loop);
    if (words.size() > 1) {
      ask_all(loop, node, words[0], {words.begin() + 1, words.end()});
    } else {
      loop.block_on(serve(node, words[0]));
    }
  } catch (const std::system_error& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
  return 0;
}
