// SPDX-License-Identifier: BSD-2-Clause
#include "tests/rpc/faults/scarce_calls.h"

#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "everything_exs.h"
#include "tests/rpc/fast/everything_server.h"

namespace exs::test {
namespace {

constexpr std::size_t kProcedures = 20;
constexpr std::size_t kNote = 10;
constexpr std::size_t kHold = 14;
constexpr std::size_t kHeldMax = 16;
constexpr std::size_t kLongBytes = 100'000;

// Makes a call of the library. Its allocations in this thread count.
template <typename Call>
auto in_library(const Call& call) {
  const LibraryCall here;
  return call();
}

// Returns whether the call worked. What did not is to have an errno, and a text.
bool worked(int result) {
  if (result == 0) return true;
  const int error = errno;
  if (error <= 0) give_up("a call failed without an errno");
  if (*exs_rpc_errtext() == '\0') give_up("a call failed without a text");
  return false;
}

// ---------------------------------------------------------------- the server

struct HeldRequests {
  std::mutex mutex;
  std::array<exs_rpc_request_t*, kHeldMax> requests{};
  std::size_t count = 0;
};

int hold_request(void* /*argument*/, void* /*result*/, exs_rpc_request_t* request) {
  auto& held = *static_cast<HeldRequests*>(exs_rpc_request_user(request));
  const std::lock_guard lock(held.mutex);
  exs_rpc_request_t* const kept = held.count < kHeldMax ? exs_rpc_request_keep(request) : nullptr;
  if (kept == nullptr) return 1;
  held.requests[held.count++] = kept;
  return EXS_RPC_LATER;
}

int take_note(void* /*argument*/, void* /*result*/, exs_rpc_request_t* /*request*/) {
  return 0;
}

class ScarceServer {
 public:
  ScarceServer() {
    for (std::size_t i = 0; i < kProcedures; ++i) functions_[i] = everything_one_service.serve[i];
    functions_[kNote] = take_note;
    functions_[kHold] = hold_request;
    exs_rpc_server_options_t options{};
    options.struct_bytes = sizeof options;
    options.threads = 2;
    server_ = in_library([&] { return exs_rpc_server_create(&options); });
    if (!worked(server_ == nullptr ? -1 : 0)) return;
    const sockaddr_in address = address_of_host(0);
    const auto* const generic = reinterpret_cast<const sockaddr*>(&address);
    if (!worked(in_library([&] { return exs_rpc_server_add(server_, &service_, &held_); }))) return;
    const int port = in_library([&] { return exs_rpc_server_listen(server_, generic, sizeof address); });
    if (!worked(port > 0 ? 0 : -1)) return;
    port_ = std::to_string(port);
    thread_ = std::thread([this] { runs_ = worked(exs_rpc_server_run(server_)); });
  }
  // Requests that are held are answered after the server is gone, too.
  ~ScarceServer() { end(); }
  ScarceServer(const ScarceServer&) = delete;
  ScarceServer& operator=(const ScarceServer&) = delete;

  // "": there is none.
  [[nodiscard]] const std::string& port() const { return port_; }
  void release_held() {
    const std::lock_guard lock(held_.mutex);
    constexpr int kResult = 1;
    for (; held_.count > 0; --held_.count)
      in_library([&] { return exs_rpc_reply(held_.requests[held_.count - 1], 0, &kResult); });
  }
  // Returns whether it ran until now.
  bool end() {
    if (thread_.joinable()) {
      in_library([&] { exs_rpc_server_stop(server_); });
      thread_.join();
    }
    in_library([&] { exs_rpc_server_delete(server_); });
    server_ = nullptr;
    release_held();
    return runs_;
  }

 private:
  HeldRequests held_;
  std::array<exs_rpc_serve_t, kProcedures> functions_;
  const exs_rpc_service_t service_{&everything_one_interface, functions_.data()};
  exs_rpc_server_t* server_ = nullptr;
  std::string port_;
  bool runs_ = false;
  std::thread thread_;
};

// ---------------------------------------------------------------- the client

bool add(exs_rpc_client_t* client, int left) {
  int sum = 0;
  const bool works = worked(in_library([&] { return add_1(client, left, 100, &sum, nullptr); }));
  if (works && sum != left + 100) give_up("a sum is wrong");
  return works;
}

bool echo(exs_rpc_client_t* client) {
  name told = nullptr;
  const bool works = worked(in_library([&] { return echo_1(client, "twelve bytes", &told, nullptr); }));
  if (works && std::strcmp(told, "twelve bytes") != 0) give_up("an echo is wrong");
  if (works) std::free(told);
  return works;
}

bool copy(exs_rpc_client_t* client) {
  static std::vector<char> bytes(kLongBytes, 'l');
  const blob argument{static_cast<unsigned>(bytes.size()), bytes.data()};
  blob got{};
  const bool works = worked(in_library([&] { return copy_1(client, &argument, &got, nullptr); }));
  if (works && (got.blob_len != bytes.size() || std::memcmp(got.blob_val, bytes.data(), bytes.size()) != 0))
    give_up("a copy is wrong");
  if (works) blob_free(&got);
  return works;
}

// More calls than there are slots; the first one is held and cancelled.
bool begin_and_cancel(exs_rpc_client_t* client) {
  constexpr std::size_t kCalls = 4;
  exs_rpc_call_t* const held = in_library([&] { return hold_1_begin(client, nullptr); });
  bool works = worked(held == nullptr ? -1 : 0);
  std::array<exs_rpc_call_t*, kCalls> calls{};
  for (std::size_t i = 0; i < kCalls; ++i) {
    calls[i] = in_library([&] { return add_1_begin(client, static_cast<int>(i), 1, nullptr); });
    works = worked(calls[i] == nullptr ? -1 : 0) && works;
  }
  for (std::size_t i = 0; i < kCalls; ++i) {
    int sum = 0;
    if (calls[i] == nullptr) continue;
    const bool has_sum = worked(in_library([&] { return add_1_end(calls[i], &sum); }));
    if (has_sum && sum != static_cast<int>(i) + 1) give_up("a sum of a begun call is wrong");
    works = works && has_sum;
  }
  if (held == nullptr) return false;
  in_library([&] { exs_rpc_cancel(held); });
  if (worked(in_library([&] { return hold_1_end(held, nullptr); }))) give_up("a cancelled call succeeded");
  return works && errno == ECANCELED;
}

bool call_server(ScarceServer& server, std::int64_t limit_ms) {
  exs_rpc_client_options_t options{};
  options.struct_bytes = sizeof options;
  options.connect_timeout_ns = options.timeout_ns = limit_ms * 1'000'000;
  options.slots = 2;
  options.waiting_max = 4;
  options.flags = client_flags();
  exs_rpc_client_t* const client =
      in_library([&] { return everything_one_open(host(), server.port().c_str(), &options); });
  if (!worked(client == nullptr ? -1 : 0)) return false;
  bool works = add(client, 1);
  works = copy(client) && works;
  works = echo(client) && works;
  works = worked(in_library([&] { return note_1(client, 1, nullptr); })) && works;
  works = begin_and_cancel(client) && works;
  server.release_held();
  works = add(client, 2) && works;
  in_library([&] { exs_rpc_close(client); });
  return works;
}

}  // namespace

bool run_calls(std::int64_t limit_ms) {
  ScarceServer server;
  const bool works = !server.port().empty() && call_server(server, limit_ms);
  return server.end() && works;
}

void give_up(const char* what) {
  std::fprintf(stderr, "process %d: %s: %s (%s)\n", ::getpid(), what, exs_rpc_errtext(),
               std::strerror(errno));
  std::_Exit(1);
}

int socket_numbers() {
  const int socket = exs_socket(AF_INET, SOCK_SEQPACKET, 0);
  if (socket < 0) give_up("no socket of exs");
  exs_close(socket);
  return socket;
}

}  // namespace exs::test
