// directory_coroutine_server: a directory in front of others. Each call becomes a coroutine, which asks all of them at once and
// combines their answers. Calls that wait for answers need no thread. Prints its port; SIGINT or SIGTERM ends it.
//   directory_coroutine_server PORT...     of directory_stub_server
// SPDX-License-Identifier: BSD-2-Clause
#include <netinet/in.h>
#include <signal.h>

#include <algorithm>
#include <cstdio>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "directory_exs.hpp"

namespace {

namespace ex = exs::cpp;

using Client = directory_directory_1_client;

struct Front {
  ex::Loop loop;
  std::vector<std::unique_ptr<Client>> directories;  // used by the loop's thread alone
};

// Lets the loop's thread run the coroutine of `make(front, request)`, which answers later.
template <typename Make>
int serve_later(exs_rpc_request_t* request, Make make) {
  Front& front = *static_cast<Front*>(exs_rpc_request_user(request));
  exs_rpc_request_t* const kept = exs_rpc_request_keep(request);
  if (kept == nullptr) return 1;
  const auto run = [&front, kept, make = std::move(make)] { front.loop.spawn(make(front, kept)); };
  if (!front.loop.post(run)) exs_rpc_reply(kept, 1, nullptr);
  return EXS_RPC_LATER;
}

// The deadline of calls on behalf of a request.
std::chrono::nanoseconds time_left(exs_rpc_request_t* request) {
  return std::chrono::nanoseconds(std::max<std::int64_t>(exs_rpc_request_time_left(request), 1));
}

// A name's length chooses its directory.
Client& home_of(Front& front, const std::string& who) {
  return *front.directories[who.size() % front.directories.size()];
}

ex::Task<> add(Front& front, exs_rpc_request_t* request, std::string who, std::uint64_t number,
               std::string notes) {
  const entry added{who.data(), number, {static_cast<unsigned>(notes.size()), notes.data()}};
  auto done = co_await home_of(front, who).add_1(&added, time_left(request));
  exs_rpc_reply(request, done ? 0 : 1, &*done);
}

ex::Task<> look_up(Front& front, exs_rpc_request_t* request, std::string who) {
  auto there = co_await home_of(front, who).look_up_1(who.c_str(), time_left(request));
  exs_rpc_reply(request, there ? 0 : 1, &*there);
}

using Listing = std::unique_ptr<ex::RpcCalling<names>>;

Listing begin_list(const Client& directory, std::chrono::nanoseconds limit) {
  return Listing(new ex::RpcCalling<names>(directory.list_1(limit)));
}

// Asks all directories before it awaits the first answer.
ex::Task<> list(Front& front, exs_rpc_request_t* request) {
  std::vector<Listing> calls;
  for (const auto& directory : front.directories) calls.push_back(begin_list(*directory, time_left(request)));
  std::vector<ex::RpcResult<names>> answers;
  for (const auto& call : calls) {
    ex::RpcCalling<names>& listing = *call;
    answers.push_back(co_await listing);
  }
  std::string nobody;
  std::vector<names> all{{nobody.data(), nullptr}};
  int status = 0;
  for (auto& answer : answers) {
    if (!answer) status = 1;
    for (const names* at = answer->next; at != nullptr; at = at->next) all.push_back({at->who, nullptr});
  }
  for (std::size_t i = 1; i < all.size(); ++i) all[i - 1].next = &all[i];
  exs_rpc_reply(request, status, all.data());
}

// Keeps the loop running.
ex::Task<> idle(Front& front) {
  co_await front.loop.sleep_until(ex::Clock::time_point::max());
}

}  // namespace

int add_1_serve(const entry* argument, int* /*result*/, exs_rpc_request_t* request) {
  return serve_later(
      request, [who = std::string(argument->who), number = argument->number,
                notes = std::string(argument->notes.notes_val, argument->notes.notes_len)](
                   Front& front, exs_rpc_request_t* kept) { return add(front, kept, who, number, notes); });
}
int look_up_1_serve(const char* argument, found* /*result*/, exs_rpc_request_t* request) {
  return serve_later(request, [who = std::string(argument)](Front& front, exs_rpc_request_t* kept) {
    return look_up(front, kept, who);
  });
}
int list_1_serve(names* /*result*/, exs_rpc_request_t* request) {
  return serve_later(request, [](Front& front, exs_rpc_request_t* kept) { return list(front, kept); });
}

constexpr char help[] =
    "usage: directory_coroutine_server PORT...\n"
    "Serves a directory at a free port of 127.0.0.1, which it prints, until SIGINT or SIGTERM.\n"
    "It asks all directory_stub_servers at the PORTs for each call, and combines their answers.\n"
    "The exit status is 0, 1 after an error, or 2 if the arguments are invalid.\n";

int main(int words, char** word) {
  if (words == 2 && std::string(word[1]) == "--help") return std::fputs(help, stdout) < 0 ? 1 : 0;
  if (words < 2) {
    std::fputs(help, stderr);
    return 2;
  }
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGINT);
  sigaddset(&signals, SIGTERM);
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);  // before other threads exist
  try {
    Front front;
    for (int i = 1; i < words; ++i)
      front.directories.push_back(std::make_unique<Client>(front.loop, "127.0.0.1", word[i]));
    exs_rpc_server_t* const server = exs_rpc_server_create(nullptr);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    int port = -1;
    if (server != nullptr && exs_rpc_server_add(server, &directory_directory_1_service, &front) == 0)
      port = exs_rpc_server_listen(server, reinterpret_cast<const sockaddr*>(&address), sizeof address);
    if (port == -1) throw std::system_error(errno, std::generic_category(), exs_rpc_errtext());
    std::printf("%d\n", port);
    std::fflush(stdout);
    front.loop.spawn(idle(front));
    std::thread asking([&] { front.loop.run(); });
    std::thread waiting([&] {
      int number = 0;
      sigwait(&signals, &number);
      exs_rpc_server_stop(server);
    });
    exs_rpc_server_run(server);
    front.loop.stop();
    asking.join();
    waiting.join();
    exs_rpc_server_delete(server);
  } catch (const std::system_error& error) {
    std::fprintf(stderr, "directory_coroutine_server: %s\n", error.what());
    return 1;
  }
  return 0;
}
