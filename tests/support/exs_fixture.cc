// SPDX-License-Identifier: BSD-2-Clause
#include "tests/support/exs_fixture.h"

#include <arpa/inet.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <utility>

namespace exs::test {
namespace {

// Stops the program: after a failed set-up every later check is meaningless.
void require(bool condition, const char* what) {
  if (condition) return;
  std::fprintf(stderr, "test set-up failed: %s: %s\n", what, errno_name(errno).c_str());
  std::abort();
}

constexpr std::int64_t kHangLimitNs = std::int64_t{kHangLimitSeconds} * 1'000'000'000;

}  // namespace

std::string errno_name(int error) {
  const char* name = ::strerrorname_np(error);
  return name == nullptr ? std::to_string(error) : name;
}

std::string outcome(int result) {
  return result >= 0 ? "ok" : errno_name(errno);
}

void choose_provider(int socket, const std::string& choice) {
  const auto length = static_cast<socklen_t>(choice.size() + 1);
  require(exs_setsockopt(socket, SOL_EXS, EXS_SO_PROVIDER, choice.c_str(), length) == 0, "EXS_SO_PROVIDER");
}

std::string provider_of(int socket) {
  char name[64] = {};
  socklen_t length = sizeof name;
  require(exs_getsockopt(socket, SOL_EXS, EXS_SO_PROVIDER, name, &length) == 0, "EXS_SO_PROVIDER");
  return name;
}

exs_stats_t stats_of(int socket) {
  exs_stats_t stats{};
  stats.struct_bytes = sizeof stats;
  require(exs_getstats(socket, &stats) == 0, "exs_getstats");
  return stats;
}

int attribute(exs_qhandle_t queue, int name) {
  int value = -1;
  std::size_t length = sizeof value;
  require(exs_qstatus(queue, name, &value, &length) == 0, "exs_qstatus");
  return value;
}

namespace {

using Entries = std::filesystem::directory_iterator;

std::size_t entries_of(const char* folder) {
  return static_cast<std::size_t>(std::distance(Entries(folder), Entries()));
}

std::string first_word(const std::filesystem::path& path) {
  std::string word;
  std::ifstream(path) >> word;
  return word;
}

template <typename Visit>
void for_each_engine(Visit visit) {
  for (const auto& task : Entries("/proc/self/task")) {
    if (first_word(task.path() / "comm") == "exs-engine") visit(task.path());
  }
}

// True: the thread sleeps through a thousand checks. User Mode Linux does not tell in which call it sleeps.
bool stays_asleep(const std::filesystem::path& task) {
  const auto look = [&] {
    std::ifstream file(task / "status");
    return std::string(std::istreambuf_iterator<char>(file), {});
  };
  const std::string first = look();  // contains the state and the counts of context switches
  for (int looks = 0; looks < 1000; ++looks) {
    std::this_thread::yield();
    if (look() != first) return false;
  }
  return first.find("State:\tS") != std::string::npos;
}

bool waits_for_lock(const std::filesystem::path& task) {
  if (!std::filesystem::exists("/proc/self/syscall")) return stays_asleep(task);
  return first_word(task / "syscall") == std::to_string(SYS_futex);
}

bool sleeps_in_poll(const std::filesystem::path& task) {
  if (!std::filesystem::exists("/proc/self/syscall")) return stays_asleep(task);
  const std::string call = first_word(task / "syscall");
  return call == std::to_string(SYS_ppoll) || call == std::to_string(SYS_poll);
}

}  // namespace

std::size_t open_descriptors() {
  return entries_of("/proc/self/fd");
}

void await_engines() {
  for (;;) {
    int engines = 0;
    int asleep = 0;
    for_each_engine([&](const std::filesystem::path& task) {
      ++engines;
      if (sleeps_in_poll(task)) ++asleep;
    });
    if (engines > 0 && asleep == engines) return;
    std::this_thread::yield();
  }
}

void await_no_engines() {
  for (;;) {
    int engines = 0;
    for_each_engine([&](const std::filesystem::path&) { ++engines; });
    if (engines == 0) return;
    std::this_thread::yield();
  }
}

InitializedLibrary::InitializedLibrary() {
  require(exs_init(EXS_VERSION) == 0, "exs_init");
}
InitializedLibrary::~InitializedLibrary() {
  exs_fini();
}

Queue::Queue(int depth, int wait_mode) : handle_(exs_qcreate(depth)) {
  require(handle_ != EXS_QHANDLE_INVALID, "exs_qcreate");
  require(exs_qmodify(handle_, EXS_QATTR_WAIT, &wait_mode, sizeof wait_mode) == 0, "exs_qmodify");
}

Queue::~Queue() {
  exs_qdelete(handle_);
}

exs_event_t Queue::next() {
  if (!kept_.empty()) {
    const exs_event_t event = kept_.front();
    kept_.erase(kept_.begin());
    return event;
  }
  exs_event_t event{};
  require(exs_qwait(handle_, &event, 1, 1, kHangLimitNs) == 1, "an event within the limit");
  return event;
}

exs_event_t Queue::next_of(int socket, int type) {
  const auto fits = [&](const exs_event_t& event) {
    return event.exs_evt_socket == socket && event.exs_evt_type == type;
  };
  for (auto it = kept_.begin(); it != kept_.end(); ++it) {
    if (!fits(*it)) continue;
    const exs_event_t event = *it;
    kept_.erase(it);
    return event;
  }
  for (;;) {
    exs_event_t event{};
    require(exs_qwait(handle_, &event, 1, 1, kHangLimitNs) == 1, exs_evtname(type));
    if (fits(event)) return event;
    kept_.push_back(event);
  }
}

bool Queue::empty() {
  int events = 0;
  std::size_t length = sizeof events;
  exs_qstatus(handle_, EXS_QATTR_EVENTS, &events, &length);
  return events == 0 && kept_.empty();
}

Memory::Memory(std::size_t size_bytes, int flags)
    : bytes_(size_bytes), handle_(exs_mregister(bytes_.data(), size_bytes, flags)) {
  require(handle_ != EXS_MHANDLE_INVALID, "exs_mregister");
}

Memory::~Memory() {
  exs_mderegister(handle_, 0);
}

void Memory::fill(std::uint32_t seed) {
  std::uint32_t state = seed * 2654435761U + 1;
  for (std::byte& byte : bytes_) {
    state = state * 1664525U + 1013904223U;
    byte = static_cast<std::byte>(state >> 24);
  }
}

WaitingThread::WaitingThread(std::function<void()> body)
    : thread_([this, body = std::move(body)] {
        id_ = ::gettid();
        id_.notify_one();
        body();
      }) {
  id_.wait(0);
}

void WaitingThread::await_sleep() const {
  const std::string path = "/proc/self/task/" + std::to_string(id_);
  while (!sleeps_in_poll(path)) std::this_thread::yield();
}

void WaitingThread::await_lock() const {
  const std::string path = "/proc/self/task/" + std::to_string(id_);
  while (!waits_for_lock(path)) std::this_thread::yield();
}

void WaitingThread::join() {
  if (thread_.joinable()) thread_.join();
}

sockaddr_in loopback(std::uint16_t port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  const char* chosen = std::getenv("EXS_TEST_ADDRESS");
  require(chosen == nullptr || ::inet_pton(AF_INET, chosen, &address.sin_addr) == 1, "EXS_TEST_ADDRESS");
  address.sin_port = htons(port);
  return address;
}

sockaddr* generic(sockaddr_in& address) {
  return reinterpret_cast<sockaddr*>(&address);
}

HeldPort::HeldPort() : holder_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
  const int yes = 1;
  socklen_t length = sizeof address_;
  require(::setsockopt(holder_, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes) == 0, "SO_REUSEADDR");
  require(::bind(holder_, generic(address_), length) == 0, "bind");
  require(::getsockname(holder_, generic(address_), &length) == 0, "getsockname");
}

ListeningSocket::ListeningSocket() : number_(exs_socket(AF_INET, SOCK_SEQPACKET, 0)) {
  require(number_ >= 0, "exs_socket");
  sockaddr_in address = loopback();
  require(exs_bind(number_, generic(address), sizeof address) == 0, "exs_bind");
  require(exs_listen(number_, 128) == 0, "exs_listen");
}

ListeningSocket::~ListeningSocket() {
  exs_close(number_);
}

sockaddr_in ListeningSocket::address() const {
  sockaddr_in address{};
  socklen_t length = sizeof address;
  require(exs_getsockname(number_, generic(address), &length) == 0, "exs_getsockname");
  return address;
}

Pair::Pair(Queue& queue, void (*prepare)(int)) : Pair(queue, queue, prepare) {}

Pair::Pair(Queue& queue, int type) : Pair(queue, queue, nullptr, type) {}

Pair::Pair(Queue& left_queue, Queue& right_queue, void (*prepare)(int), int type) {
  const int listening = exs_socket(AF_INET, type, 0);
  left = exs_socket(AF_INET, type, 0);
  require(listening >= 0 && left >= 0, "exs_socket");
  if (prepare != nullptr) {
    prepare(listening);
    prepare(left);
  }
  if (const char* const provider = std::getenv("EXS_TEST_LEFT_PROVIDER")) {
    require(exs_setsockopt(left, SOL_EXS, EXS_SO_PROVIDER, provider,
                           static_cast<socklen_t>(std::strlen(provider))) == 0,
            "EXS_TEST_LEFT_PROVIDER");
  }
  sockaddr_in address = loopback();
  socklen_t length = sizeof address;
  require(exs_bind(listening, generic(address), sizeof address) == 0, "exs_bind");
  require(exs_listen(listening, 1) == 0, "exs_listen");
  require(exs_getsockname(listening, generic(address), &length) == 0, "exs_getsockname");
  require(exs_accept(listening, nullptr, 0, right_queue.handle(), nullptr) == 0, "exs_accept");
  require(exs_connect(left, generic(address), sizeof address, 0, left_queue.handle(), nullptr) == 0,
          "exs_connect");
  const exs_event_t connected = left_queue.next_of(left, EXS_EVT_CONNECT);
  errno = connected.exs_evt_errno;
  require(connected.exs_evt_errno == 0, "the connection");
  right = right_queue.next_of(listening, EXS_EVT_ACCEPT).exs_evt_union.exs_evt_accept.exs_evt_newsocket;
  require(right >= 0, "the accepted socket");
  exs_close(listening);
}

Pair::~Pair() {
  exs_close(left);
  exs_close(right);
}

}  // namespace exs::test
