// SPDX-License-Identifier: BSD-2-Clause
#include "perf/service_check/referee.h"

#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <thread>

#include "perf/service_check/client.h"
#include "perf/service_check/server.h"
#include "perf/service_check/words.h"
#include "tools/common/clock.h"

namespace service_check {
namespace {

using std::chrono::microseconds;
using std::chrono::milliseconds;

constexpr std::uint64_t kPatienceNs = 30 * tools::kNsPerSecond;
constexpr std::uint32_t kLifeMs = 60;   // at most, after all clients have heard of the life
constexpr std::uint32_t kEarlyMs = 30;  // at most, if it ends before they need have
constexpr std::uint32_t kAwayMs = 400;  // at most, if the next does not follow at once
constexpr std::uint32_t kOldOwnerMs = 20;

void sleep_ms(std::uint32_t ms) {
  std::this_thread::sleep_for(milliseconds(ms));
}

// Does not reap the process.
bool has_ended(const tools::ChildProcess& process) {
  siginfo_t info{};
  return ::waitid(P_PID, static_cast<id_t>(process.pid()), &info, WEXITED | WNOHANG | WNOWAIT) == 0 &&
         info.si_pid != 0;
}

// Runs `body` in a process whose exit status tells the outcome.
template <typename Body>
int tell_failures(Body body) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  try {
    return body();
  } catch (const tools::Failure& failure) {
    std::fprintf(stderr, "service-check: %s\n", failure.what());
    return 1;
  }
}

void plant_name() {
  static const int socket = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const sockaddr_un address{AF_UNIX, "\0planted"};
  static_cast<void>(::bind(socket, reinterpret_cast<const sockaddr*>(&address), sizeof(sa_family_t) + 8));
}

}  // namespace

// ---------------------------------------------------------------- processes

// Reached with a process only while a failure is on its way; another one would end the program by SIGABRT.
Referee::Life::~Life() {
  try {
    end();
  } catch (const tools::Failure& failure) {
    std::fprintf(stderr, "service-check: %s\n", failure.what());
  }
}

void Referee::Life::signal(int signal) const {
  ::kill(process->pid(), signal);
}

void Referee::Life::end() {
  if (!process) return;
  host.reset();  // while the other end of the cable exists
  signal(SIGKILL);
  const int by = process->wait_for_end();
  process.reset();
  if (by != SIGKILL) throw tools::Failure("the service ended by itself");
}

Referee::Referee(const Settings& settings)
    : settings_(settings),
      key_(exs_svc_key_create(), exs_svc_key_free),
      random_(settings.seed),
      abstract_names_(abstract_names()) {
  if (key_ == nullptr) fail("no key");
  if (settings_.end == End::kKill) return;
  std::array<char, 32> path{"/tmp/service-check-XXXXXX"};
  const int file = ::mkstemp(path.data());
  if (file < 0) tools::fail("no file of names", errno);
  ::close(file);
  names_ = path.data();
  exs_svc_id_t id;
  exs_svc_key_id(key_.get(), &id);
  std::array<char, EXS_SVC_ID_TEXT> text;
  exs_svc_id_text(&id, text.data());
  std::ofstream(names_) << "check " << text.data() << " " << Host::address(0) << " " << Host::address(1)
                        << "\n";
}

Referee::~Referee() {
  for (const auto& client : clients_)
    if (client->pid() > 0) ::kill(client->pid(), SIGKILL);
  if (!names_.empty()) ::unlink(names_.c_str());
}

void Referee::start_clients() {
  for (std::uint32_t i = 0; i < kKinds; ++i) {
    ClientSettings client{Kind{i}, {}, names_, settings_.sabotage};
    exs_svc_key_id(key_.get(), &client.service);
    clients_.push_back(std::make_unique<tools::ChildProcess>(
        [&] { return tell_failures([&] { return send_for_ever(client, *board_); }); }));
  }
}

void Referee::start_life() {
  for (auto& time : board_->first_ns) time = 0;
  board_->opens_ns = 0;
  const unsigned place = ++board_->life % 2;
  auto life = std::make_unique<Life>();
  ServerSettings server{{}, settings_.sabotage};
  if (settings_.end != End::kKill) {
    life->host.emplace(place);
    server.listen = Host::address(place);
  }
  life->process.emplace([&] {
    return tell_failures([&]() -> int {
      if (life->host) life->host->enter();
      serve(key_.get(), server, *board_, *life->ledger);
    });
  });
  if (life->host) life->host->join(life->process->pid());
  life_ = std::move(life);
}

// ---------------------------------------------------------------- rounds

// Returns true if the condition became true in time.
template <typename Predicate>
bool Referee::wait_for(Predicate is_so) {
  const std::uint64_t end_ns = exs::monotonic_ns() + kPatienceNs;
  for (; !is_so(); std::this_thread::sleep_for(microseconds(200))) {
    if (exs::monotonic_ns() > end_ns) return false;
    const bool is_over = board_->phase == Board::kOver;
    const bool has_lost_one =
        std::any_of(clients_.begin(), clients_.end(), [](const auto& client) { return has_ended(*client); });
    if (has_ended(*life_->process) || (has_lost_one && !is_over))
      throw tools::Failure("a process ended by itself");
  }
  return true;
}

void Referee::run() {
  start_clients();
  start_life();
  wait_until_heard();
  rest();
  for (const auto& client : clients_) held_.push_back(Holdings::of_process(client->pid()));
  go_on();
  for (std::uint32_t i = 0; i < settings_.kills; ++i) {
    sleep_ms(choose(kLifeMs));
    end_life();
    // One life in four ends before clients need have heard of it. After one in four, the service is absent for a while.
    const std::uint32_t chance = choose(4);
    if (chance == 0) sleep_ms(choose(kAwayMs));
    if (chance == 1 && settings_.end == End::kKill) {
      start_life();
      sleep_ms(choose(kEarlyMs));
      end_life();
    }
    start_life();
    wait_until_heard();
    note_times();
    if (vanished_ != nullptr) bury(std::move(vanished_));
  }
  finish();
}

void Referee::end_life() {
  ended_ns_ = exs::monotonic_ns();
  if (settings_.end == End::kKill) return bury(std::move(life_));
  if (settings_.end == End::kStop) life_->signal(SIGSTOP);
  if (settings_.end == End::kCut) life_->host->cut();
  vanished_ = std::move(life_);
}

// A life that had only vanished comes back first, and finds that nobody needs it.
void Referee::bury(std::unique_ptr<Life> life) {
  if (settings_.end == End::kStop) life->signal(SIGCONT);
  if (settings_.end == End::kCut) life->host->mend();
  if (settings_.end != End::kKill) sleep_ms(kOldOwnerMs);
  life->end();
  verdict_.add(*life->ledger);
}

void Referee::wait_until_heard() {
  for (std::uint32_t i = 0; i < kKinds; ++i)
    if (!wait_for([&] { return board_->first_ns[i] != 0; }))
      throw tools::Failure(std::string(kNames[i]) + ": nothing of life " + std::to_string(board_->life));
}

void Referee::note_times() {
  for (const auto& first_ns : board_->first_ns) {
    since_open_.record(first_ns - board_->opens_ns);
    since_end_.record(first_ns - ended_ns_);
  }
}

// Waits until everything sent has ended.
void Referee::rest() {
  const int phase = ++board_->phase;
  for (std::uint32_t i = 0; i < kKinds; ++i)
    if (!wait_for([&] { return board_->accounts[i].reached == phase; }))
      throw tools::Failure(std::string(kNames[i]) + ": something never ends");
}

// Some resources go a moment after their connection has ended.
void Referee::compare_holdings() {
  for (std::size_t i = 0; i < kKinds; ++i) {
    const auto left = [&] { return Holdings::of_process(clients_[i]->pid()).beyond(held_[i]); };
    if (!wait_for([&] { return left().empty(); }))
      throw tools::Failure(std::string(kNames[i]) + ": left behind by restarts: " + left());
  }
}

void Referee::finish() {
  rest();
  compare_holdings();
  board_->phase = Board::kOver;
  for (std::size_t i = 0; i < kKinds; ++i) {
    if (!wait_for([&] { return has_ended(*clients_[i]); }))
      throw tools::Failure(std::string(kNames[i]) + ": does not end");
    if (clients_[i]->stop() != 0) throw tools::Failure(std::string(kNames[i]) + ": ended badly");
  }
  clients_.clear();
  bury(std::move(life_));
  verdict_.check(*board_, board_->life);
  if (settings_.sabotage == Sabotage::kName) plant_name();
  const std::vector<std::string> names = abstract_names();
  if (names != abstract_names_) throw tools::Failure("left behind: socket " + names.back());
}

}  // namespace service_check
