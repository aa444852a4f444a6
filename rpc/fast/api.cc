// The functions of exs/rpc.h.
// SPDX-License-Identifier: BSD-2-Clause
#include <netdb.h>
#include <netinet/in.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <memory>

#include "base/c_call.h"
#include "base/clock.h"
#include "base/options.h"
#include "base/refusal.h"
#include "base/socket_address.h"
#include "exs/rpc.h"
#include "rpc/fast/client.h"
#include "rpc/fast/codec.h"
#include "rpc/fast/general_sentence.h"
#include "rpc/fast/named_refusal.h"
#include "rpc/fast/server.h"

using namespace exs;
using namespace exs::rpc;

namespace {

constexpr std::int64_t kSecond = 1'000'000'000;
constexpr std::uint32_t kMessageBytes = std::uint32_t{64} << 20U;
constexpr std::uint32_t kMessageBytesMax = std::uint32_t{1} << 30U;
constexpr std::uint32_t kMessageBytesMin = 64 * 1024;  // room for the greeting's table
constexpr std::uint32_t kThreadsMax = 256;
constexpr std::uint32_t kWaitingMax = std::uint32_t{1} << 20U;
constexpr std::uint32_t kClients = 65536;

template <typename Number>
Number or_default(Number value, Number otherwise) {
  return value == 0 ? otherwise : value;
}

bool is_address(const sockaddr* address, socklen_t length) {
  if (address == nullptr || length < sizeof(sa_family_t)) return false;
  const socklen_t least = address_bytes(*address);
  return least != 0 && length >= least;
}

// ---------------------------------------------------------------- clients

bool are_valid(const exs_rpc_client_options_t& options) {
  constexpr std::uint32_t kFlags = EXS_RPC_ON_QUEUE | EXS_RPC_MAPPED;
  return options.connect_timeout_ns >= 0 && options.timeout_ns >= 0 && options.slots <= kSlotsMax &&
         options.waiting_max <= kWaitingMax && (options.flags & ~kFlags) == 0 && options.flags != kFlags &&
         options.message_bytes_max <= kMessageBytesMax;
}

ClientSettings settings_of(const exs_rpc_client_options_t& options) {
  return {or_default(options.connect_timeout_ns, 5 * kSecond),
          or_default(options.timeout_ns, 25 * kSecond),
          std::max(or_default(options.message_bytes_max, kMessageBytes), kMessageBytesMin),
          or_default(options.slots, 8U),
          options.waiting_max,
          (options.flags & EXS_RPC_ON_QUEUE) != 0 ? options.queue : EXS_QHANDLE_INVALID,
          (options.flags & EXS_RPC_MAPPED) != 0};
}

Result<exs_rpc_client_t*> make_client(const sockaddr* address, socklen_t length,
                                      const exs_rpc_interface_t* interface,
                                      const exs_rpc_client_options_t* given) {
  exs_rpc_client_options_t options{};
  if (!is_address(address, length) || interface == nullptr || interface->procedures_count > kProceduresMax ||
      !read_options(given, options) || !are_valid(options))
    return failure(
        refuse(EINVAL, "an address of another family, no interface, or an option that is out of range"));
  ServerAddress server;
  server.length = std::min<socklen_t>(length, sizeof server.bytes);
  std::memcpy(&server.bytes, address, server.length);
  auto client = std::make_unique<exs_rpc_client>(server, *interface, settings_of(options));
  if (const Status connected = client->connect(); !connected.ok()) return failure(connected);
  return client.release();
}

int error_of_name(int error) {
  switch (error) {
    case EAI_MEMORY: return ENOMEM;
    case EAI_SYSTEM: return errno;
    case EAI_AGAIN: return EAGAIN;
    default: return ENOENT;
  }
}

struct FreeAddresses {
  void operator()(addrinfo* first) const { freeaddrinfo(first); }
};
using Addresses = std::unique_ptr<addrinfo, FreeAddresses>;

Result<Addresses> find_addresses(const char* host, const char* port) {
  addrinfo wanted{};
  wanted.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  const int error = getaddrinfo(host, port, &wanted, &found);
  if (error == 0) return Addresses(found);
  return failure(refuse_in_words(error_of_name(error), {host, ", port ", port, ": ", gai_strerror(error)}));
}

}  // namespace

exs_rpc_client_t* exs_rpc_connect(const struct sockaddr* address, socklen_t length,
                                  const exs_rpc_interface_t* interface,
                                  const exs_rpc_client_options_t* options) {
  // cppcheck-suppress CastIntegerToAddressAtReturn ; what it takes for an integer is a pointer
  return c_call<exs_rpc_client_t*>(nullptr, [&] { return make_client(address, length, interface, options); });
}

exs_rpc_client_t* exs_rpc_open(const char* host, const char* port, const exs_rpc_interface_t* interface,
                               const exs_rpc_client_options_t* options) {
  // cppcheck-suppress CastIntegerToAddressAtReturn ; what it takes for an integer is a pointer
  return c_call<exs_rpc_client_t*>(nullptr, [&]() -> Result<exs_rpc_client_t*> {
    if (host == nullptr || port == nullptr) return failure(refuse(EINVAL, "no name of a host, or no port"));
    const Result<Addresses> addresses = find_addresses(host, port);
    if (!addresses) return failure(addresses.error());
    Result<exs_rpc_client_t*> client = failure(ENOENT);
    for (const addrinfo* one = addresses->get(); one != nullptr && !client; one = one->ai_next)
      client = make_client(one->ai_addr, one->ai_addrlen, interface, options);
    return client;
  });
}

void exs_rpc_close(exs_rpc_client_t* client) {
  delete client;
}

int exs_rpc_invoke(exs_rpc_client_t* client, uint32_t procedure, const void* argument, void* result,
                   exs_rpc_context_t* context) {
  return c_call([&] {
    if (client == nullptr) return refuse(EINVAL, "no client");
    return client->call(procedure, argument, result, context);
  });
}

exs_rpc_call_t* exs_rpc_begin(exs_rpc_client_t* client, uint32_t procedure, const void* argument,
                              exs_rpc_context_t* context) {
  // cppcheck-suppress CastIntegerToAddressAtReturn ; what it takes for an integer is a pointer
  return c_call<exs_rpc_call_t*>(nullptr, [&]() -> Result<exs_rpc_call_t*> {
    if (client == nullptr) return failure(refuse(EINVAL, "no client"));
    return client->begin_call(procedure, argument, context);
  });
}

int exs_rpc_end(exs_rpc_call_t* call, void* result) {
  return c_call([&] {
    if (call == nullptr) return refuse(EINVAL, "no call: did its begin succeed?");
    return call->client->end_call(*call, result);
  });
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
  return c_call([&]() -> Status {
    if (client == nullptr || info == nullptr || info->struct_bytes < sizeof info->struct_bytes)
      return refuse(EINVAL, "no client, or struct_bytes is not set");
    exs_rpc_client_info_t filled = client->info();
    filled.struct_bytes = info->struct_bytes;
    std::memcpy(info, &filled, std::min(filled.struct_bytes, sizeof filled));
    return {};
  });
}

void exs_rpc_free(const exs_rpc_type_t* type, void* value) {
  if (type != nullptr && value != nullptr) free_value(*type, value);
}

const char* exs_rpc_errtext(void) {
  return text_of_failed_call(general_sentence);
}

// ---------------------------------------------------------------- servers

exs_rpc_server_t* exs_rpc_server_create(const exs_rpc_server_options_t* given) {
  // cppcheck-suppress CastIntegerToAddressAtReturn ; what it takes for an integer is a pointer
  return c_call<exs_rpc_server_t*>(nullptr, [&]() -> Result<exs_rpc_server_t*> {
    exs_rpc_server_options_t options{};
    if (!read_options(given, options) || options.threads > kThreadsMax || options.slots > kSlotsMax ||
        options.message_bytes_max > kMessageBytesMax)
      return failure(refuse(EINVAL, "an option is out of range, or struct_bytes is not set"));
    const ServerSettings settings{
        or_default(options.slots, kSlotsMax),
        std::max(or_default(options.message_bytes_max, kMessageBytes), kMessageBytesMin + 1),
        or_default(options.clients_max, kClients)};
    auto server = std::make_unique<exs_rpc_server>(settings);
    const Status made = server->make_workers(or_default(options.threads, 1U));
    if (!made.ok()) return failure(made);
    return server.release();
  });
}

int exs_rpc_server_add(exs_rpc_server_t* server, const exs_rpc_service_t* service, void* user) {
  return c_call([&] {
    if (server == nullptr || service == nullptr) return refuse(EINVAL, "no server, or no service");
    return server->add_service(*service, user);
  });
}

int exs_rpc_server_listen(exs_rpc_server_t* server, const struct sockaddr* address, socklen_t length) {
  return c_call([&]() -> Result<int> {
    if (server == nullptr || !is_address(address, length))
      return failure(refuse(EINVAL, "no server, or an address of another family"));
    return server->listen(*address, length);
  });
}

int exs_rpc_server_run(exs_rpc_server_t* server) {
  return c_call([&] { return server == nullptr ? refuse(EINVAL, "no server") : server->run(); });
}

void exs_rpc_server_stop(exs_rpc_server_t* server) {
  if (server != nullptr) server->stop();
}

void exs_rpc_server_delete(exs_rpc_server_t* server) {
  delete server;
}

void* exs_rpc_request_alloc(exs_rpc_request_t* request, size_t bytes) {
  // cppcheck-suppress CastIntegerToAddressAtReturn ; what it takes for an integer is a pointer
  return c_call<void*>(nullptr, [&]() -> Result<void*> {
    if (request->arena == nullptr)
      return failure(refuse(ENOMEM, "the request was kept: use memory of your own"));
    void* const memory = request->arena->allocate(bytes);
    if (memory == nullptr) return failure(refuse(ENOMEM, "no memory for a result"));
    return memory;
  });
}

void* exs_rpc_request_user(const exs_rpc_request_t* request) {
  return request->user;
}

int exs_rpc_request_peer(const exs_rpc_request_t* request, struct sockaddr* address, socklen_t* length) {
  return c_call([&] { return request->binding->get_peer(address, length); });
}

int64_t exs_rpc_request_time_left(const exs_rpc_request_t* request) {
  return request->end_ns == kNeverNs ? INT64_MAX
                                     : static_cast<int64_t>(request->end_ns - exs::monotonic_ns());
}

int exs_rpc_request_cancelled(const exs_rpc_request_t* request) {
  return request->is_cancelled || exs_rpc_request_time_left(request) <= 0 ? 1 : 0;
}

exs_rpc_request_t* exs_rpc_request_keep(exs_rpc_request_t* request) {
  // cppcheck-suppress CastIntegerToAddressAtReturn ; what it takes for an integer is a pointer
  return c_call<exs_rpc_request_t*>(nullptr, [&]() -> Result<exs_rpc_request_t*> {
    if (request->is_kept) return failure(refuse(ENOMEM, "the request was kept before"));
    return request->binding->keep(*request);
  });
}

int exs_rpc_reply(exs_rpc_request_t* request, int status, const void* result) {
  return c_call([&]() -> Status {
    if (request == nullptr) return refuse(EINVAL, "no request: did exs_rpc_request_keep() succeed?");
    const std::unique_ptr<exs_rpc_request> owner(request);
    request->binding->forget(request);
    MessageBuffer buffer;
    const Status replied = request->binding->reply(*request, status, result, buffer);
    request->binding->release_kept();
    if (replied.ok()) return {};
    const int error = replied.error();
    if (error == ECONNRESET) return refuse_named(error, request->procedure->name, "the client is gone");
    return refuse_in_words(error,
                           {request->procedure->name, ": its result cannot be sent: ", std::strerror(error)});
  });
}
