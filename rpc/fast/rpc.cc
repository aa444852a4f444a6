// The functions of exs/rpc.h.
// SPDX-License-Identifier: BSD-2-Clause
#include "exs/rpc.h"

#include <netdb.h>
#include <netinet/in.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <new>

#include "rpc/channel/clock.h"
#include "rpc/fast/client.h"
#include "rpc/fast/codec.h"
#include "rpc/fast/error_text.h"
#include "rpc/fast/server.h"

namespace {

using exs::rpc::refuse;

constexpr std::int64_t kSecond = 1'000'000'000;
constexpr std::uint32_t kMessageBytes = std::uint32_t{64} << 20U;
constexpr std::uint32_t kMessageBytesMax = std::uint32_t{1} << 30U;
constexpr std::uint32_t kMessageBytesMin = 64 * 1024;  // room for the greeting's table
constexpr std::uint32_t kThreadsMax = 256;
constexpr std::uint32_t kWaitingMax = std::uint32_t{1} << 20U;
constexpr std::uint32_t kClients = 65536;

// Runs a function that may lack memory. On failure errno is the original error, whatever the cleanup set.
template <typename Result, typename Function>
Result guarded(Result failed, Function&& function) {
  Result result = failed;
  try {
    result = function();
  } catch (const std::bad_alloc&) {
    refuse(ENOMEM, "no memory");
  }
  if (result == failed) exs::rpc::restore_error();
  return result;
}

// Copies the options as far as both releases know them. Returns false if struct_bytes is invalid.
template <typename Options>
bool read_options(const Options* given, Options& options) {
  if (given == nullptr) return true;
  if (given->struct_bytes < sizeof given->struct_bytes) return false;
  std::memcpy(&options, given, std::min(given->struct_bytes, sizeof options));
  return true;
}

std::uint32_t or_default(std::uint32_t value, std::uint32_t otherwise) {
  return value == 0 ? otherwise : value;
}
std::int64_t or_default(std::int64_t value, std::int64_t otherwise) {
  return value == 0 ? otherwise : value;
}

bool is_address(const sockaddr* address, socklen_t length) {
  if (address == nullptr) return false;
  if (length < sizeof(sa_family_t)) return false;
  if (address->sa_family == AF_INET) return length >= sizeof(sockaddr_in);
  return address->sa_family == AF_INET6 && length >= sizeof(sockaddr_in6);
}

int error_of_name(int told) {
  switch (told) {
    case EAI_MEMORY: return ENOMEM;
    case EAI_SYSTEM: return errno;
    case EAI_AGAIN: return EAGAIN;
    default: return ENOENT;
  }
}

}  // namespace

// ---------------------------------------------------------------- clients

exs_rpc_client_t* exs_rpc_connect(const struct sockaddr* address, socklen_t length,
                                  const exs_rpc_interface_t* interface,
                                  const exs_rpc_client_options_t* given) {
  exs_rpc_client_options_t options{};
  if (!is_address(address, length) || interface == nullptr || !read_options(given, options) ||
      interface->procedures_count > exs::rpc::kProceduresMax || options.connect_timeout_ns < 0 ||
      options.timeout_ns < 0 || options.slots > exs::rpc::kSlotsMax || options.waiting_max > kWaitingMax ||
      (options.flags & ~std::uint32_t{EXS_RPC_ON_QUEUE | EXS_RPC_MAPPED}) != 0 ||
      options.flags == (EXS_RPC_ON_QUEUE | EXS_RPC_MAPPED) || options.message_bytes_max > kMessageBytesMax) {
    refuse(EINVAL, "an address of another family, no interface, or an option that is out of range");
    return nullptr;
  }
  return guarded<exs_rpc_client_t*>(nullptr, [&]() -> exs_rpc_client_t* {
    exs::rpc::ServerAddress server;
    server.length = std::min<socklen_t>(length, sizeof server.bytes);
    std::memcpy(&server.bytes, address, server.length);
    const exs::rpc::ClientSettings settings{
        or_default(options.connect_timeout_ns, 5 * kSecond),
        or_default(options.timeout_ns, 25 * kSecond),
        std::max(or_default(options.message_bytes_max, kMessageBytes), kMessageBytesMin),
        or_default(options.slots, 8),
        options.waiting_max,
        (options.flags & EXS_RPC_ON_QUEUE) != 0 ? options.queue : EXS_QHANDLE_INVALID,
        (options.flags & EXS_RPC_MAPPED) != 0};
    auto client = std::make_unique<exs_rpc_client>(server, *interface, settings);
    return client->connect() == 0 ? client.release() : nullptr;
  });
}

exs_rpc_client_t* exs_rpc_open(const char* host, const char* port, const exs_rpc_interface_t* interface,
                               const exs_rpc_client_options_t* options) {
  if (host == nullptr || port == nullptr) {
    refuse(EINVAL, "no name of a host, or no port");
    return nullptr;
  }
  addrinfo wanted{};
  wanted.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  const int told = getaddrinfo(host, port, &wanted, &found);
  if (told != 0) {
    refuse(error_of_name(told), "%s, port %s: %s", host, port, gai_strerror(told));
    return nullptr;
  }
  exs_rpc_client_t* client = nullptr;
  for (const addrinfo* one = found; one != nullptr && client == nullptr; one = one->ai_next)
    client = exs_rpc_connect(one->ai_addr, one->ai_addrlen, interface, options);
  const int error = errno;
  freeaddrinfo(found);
  errno = error;
  return client;
}

void exs_rpc_close(exs_rpc_client_t* client) {
  delete client;
}

int exs_rpc_invoke(exs_rpc_client_t* client, uint32_t procedure, const void* argument, void* result,
                   exs_rpc_context_t* context) {
  if (client == nullptr) return refuse(EINVAL, "no client");
  return guarded(-1, [&] { return client->call(procedure, argument, result, context); });
}

exs_rpc_call_t* exs_rpc_begin(exs_rpc_client_t* client, uint32_t procedure, const void* argument,
                              exs_rpc_context_t* context) {
  if (client == nullptr) {
    refuse(EINVAL, "no client");
    return nullptr;
  }
  return guarded<exs_rpc_call_t*>(nullptr, [&] { return client->begin(procedure, argument, context); });
}

int exs_rpc_end(exs_rpc_call_t* call, void* result) {
  if (call == nullptr) return refuse(EINVAL, "no call: did its begin succeed?");
  return guarded(-1, [&] { return call->client->end(*call, result); });
}

int exs_rpc_test(exs_rpc_call_t* call) {
  return call == nullptr || call->client->has_ended(*call) ? 1 : 0;
}

void exs_rpc_on_end(exs_rpc_call_t* call, void (*ended)(void* user), void* user) {
  if (call != nullptr && ended != nullptr) call->client->on_end(*call, ended, user);
}

int exs_rpc_take(exs_rpc_client_t* client, const exs_event_t* event) {
  return client != nullptr && event != nullptr && client->take_event(*event) ? 1 : 0;
}

void exs_rpc_cancel(exs_rpc_call_t* call) {
  if (call != nullptr) call->client->cancel(*call);
}

int exs_rpc_client_status(exs_rpc_client_t* client, exs_rpc_client_info_t* info) {
  if (client == nullptr || info == nullptr || info->struct_bytes < sizeof info->struct_bytes)
    return refuse(EINVAL, "no client, or struct_bytes is not set");
  exs_rpc_client_info_t told = client->info();
  told.struct_bytes = info->struct_bytes;
  std::memcpy(info, &told, std::min(told.struct_bytes, sizeof told));
  return 0;
}

void exs_rpc_free(const exs_rpc_type_t* type, void* value) {
  if (type != nullptr && value != nullptr) exs::rpc::free_value(*type, value);
}

const char* exs_rpc_errtext(void) {
  return exs::rpc::error_text();
}

// ---------------------------------------------------------------- servers

exs_rpc_server_t* exs_rpc_server_create(const exs_rpc_server_options_t* given) {
  exs_rpc_server_options_t options{};
  if (!read_options(given, options) || options.threads > kThreadsMax || options.slots > exs::rpc::kSlotsMax ||
      options.message_bytes_max > kMessageBytesMax) {
    refuse(EINVAL, "an option is out of range, or struct_bytes is not set");
    return nullptr;
  }
  return guarded<exs_rpc_server_t*>(nullptr, [&]() -> exs_rpc_server_t* {
    const exs::rpc::ServerSettings settings{
        or_default(options.slots, exs::rpc::kSlotsMax),
        std::max(or_default(options.message_bytes_max, kMessageBytes), kMessageBytesMin + 1),
        or_default(options.clients_max, kClients)};
    auto server = std::make_unique<exs_rpc_server>(settings);
    return server->prepare(or_default(options.threads, 1)) == 0 ? server.release() : nullptr;
  });
}

int exs_rpc_server_add(exs_rpc_server_t* server, const exs_rpc_service_t* service, void* user) {
  if (server == nullptr || service == nullptr) return refuse(EINVAL, "no server, or no service");
  return guarded(-1, [&] { return server->add(*service, user); });
}

int exs_rpc_server_listen(exs_rpc_server_t* server, const struct sockaddr* address, socklen_t length) {
  if (server == nullptr || !is_address(address, length))
    return refuse(EINVAL, "no server, or an address of another family");
  return guarded(-1, [&] { return server->listen(address, length); });
}

int exs_rpc_server_run(exs_rpc_server_t* server) {
  if (server == nullptr) return refuse(EINVAL, "no server");
  return guarded(-1, [&] { return server->run(); });
}

void exs_rpc_server_stop(exs_rpc_server_t* server) {
  if (server != nullptr) server->stop();
}

void exs_rpc_server_delete(exs_rpc_server_t* server) {
  delete server;
}

void* exs_rpc_request_alloc(exs_rpc_request_t* request, size_t bytes) {
  const auto take = [&] { return request->arena == nullptr ? nullptr : request->arena->take(bytes); };
  void* const memory = guarded<void*>(nullptr, take);
  if (memory == nullptr)
    refuse(ENOMEM, "no memory for a result, or the request was kept: use memory of your own");
  return memory;
}

void* exs_rpc_request_user(const exs_rpc_request_t* request) {
  return request->user;
}

int exs_rpc_request_peer(const exs_rpc_request_t* request, struct sockaddr* address, socklen_t* length) {
  return request->binding->peer(address, length);
}

int64_t exs_rpc_request_time_left(const exs_rpc_request_t* request) {
  return request->end_ns == INT64_MAX ? INT64_MAX : request->end_ns - exs::rpc::now_ns();
}

int exs_rpc_request_cancelled(const exs_rpc_request_t* request) {
  return request->is_cancelled || exs_rpc_request_time_left(request) <= 0 ? 1 : 0;
}

exs_rpc_request_t* exs_rpc_request_keep(exs_rpc_request_t* request) {
  const auto keep = [&] { return request->is_kept ? nullptr : request->binding->keep(*request); };
  exs_rpc_request_t* const kept = guarded<exs_rpc_request_t*>(nullptr, keep);
  if (kept == nullptr) refuse(ENOMEM, "no memory to keep a request, or it was kept before");
  return kept;
}

int exs_rpc_reply(exs_rpc_request_t* request, int status, const void* result) {
  if (request == nullptr) return refuse(EINVAL, "no request: did exs_rpc_request_keep() succeed?");
  const std::unique_ptr<exs_rpc_request> owner(request);
  request->binding->forget(request);
  return guarded(-1, [&] {
    exs::rpc::MessageBuffer buffer;
    const int error = request->binding->reply(*request, status, result, buffer);
    request->binding->release();
    switch (error) {
      case 0: return 0;
      case ECONNRESET: return refuse(error, "%s: the client is gone", request->procedure->name);
      default:
        return refuse(error, "%s: its result cannot be sent: %s", request->procedure->name,
                      std::strerror(error));
    }
  });
}
