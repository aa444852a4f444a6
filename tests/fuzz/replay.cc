// Runs a target on each file of its corpus, then on a number of changed ones.
//   tests-fuzz-ROOM TARGET FILE_OR_FOLDER... [--runs N] [--seed S]
// The same seed makes the same inputs. One that ends the process is kept, and the last line tells how to repeat it.
// SPDX-License-Identifier: BSD-2-Clause
#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/mutator.h"

#ifdef __SANITIZE_ADDRESS__
#include <sanitizer/common_interface_defs.h>
#endif

namespace exs::fuzz {
namespace {

constexpr std::size_t kInputBytesMax = 4096;
constexpr unsigned kLimitS = 600;  // for all inputs: one that does not end is a fault, too

std::map<std::string_view, Target>& targets() {
  static std::map<std::string_view, Target> all;
  return all;
}

// The input that runs, for when it ends the process.
const char* g_program = "";
const char* g_target = "";
std::span<const std::byte> g_input;

// Only what a signal handler may call.
void keep_input() {
  char name[256];
  std::snprintf(name, sizeof name, "crash-%s-%d", g_target, static_cast<int>(::getpid()));
  const int file = ::open(name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
  if (file >= 0) {
    [[maybe_unused]] const ssize_t kept = ::write(file, g_input.data(), g_input.size());
    ::close(file);
  }
  char line[512];
  const int length = std::snprintf(line, sizeof line, "repeat: %s %s %s\n", g_program, g_target, name);
  [[maybe_unused]] const ssize_t told =
      ::write(STDERR_FILENO, line, static_cast<std::size_t>(std::min<long>(length, sizeof line)));
}
void die(int number) {
  keep_input();
  ::signal(number, SIG_DFL);
  ::raise(number);
}

void watch_for_the_end() {
#ifdef __SANITIZE_ADDRESS__
  ::__sanitizer_set_death_callback(keep_input);
#else
  for (const int number : {SIGSEGV, SIGBUS, SIGFPE, SIGILL}) ::signal(number, die);
#endif
  for (const int number : {SIGABRT, SIGALRM}) ::signal(number, die);
  ::alarm(kLimitS);
}

void run(Target target, const Bytes& bytes) {
  g_input = bytes;
  Input input(bytes);
  target(input);
}

Bytes read(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  const std::string text{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  const auto bytes = std::as_bytes(std::span(text));
  return {bytes.begin(), bytes.end()};
}

// In the order of their names, so that the changes are the same each time.
std::vector<Bytes> read_all(const std::vector<std::string>& places) {
  std::vector<std::filesystem::path> files;
  for (const std::string& place : places) {
    if (!std::filesystem::is_directory(place)) {
      files.emplace_back(place);
      continue;
    }
    for (const auto& entry : std::filesystem::directory_iterator(place)) files.push_back(entry.path());
  }
  std::sort(files.begin(), files.end());
  std::vector<Bytes> inputs;
  for (const auto& file : files) inputs.push_back(read(file));
  return inputs;
}

struct Options {
  std::vector<std::string> places;
  std::uint64_t runs = 0;
  std::uint64_t seed = 1;
};

Options parse(std::span<char* const> arguments) {
  Options options;
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const std::string_view word = arguments[i];
    const bool has_value = i + 1 < arguments.size();
    if (word == "--runs" && has_value) {
      options.runs = std::strtoull(arguments[++i], nullptr, 10);
    } else if (word == "--seed" && has_value) {
      options.seed = std::strtoull(arguments[++i], nullptr, 10);
    } else {
      options.places.emplace_back(word);
    }
  }
  return options;
}

void run_changed(Target target, const std::vector<Bytes>& inputs, const Options& options) {
  Mutator mutator(options.seed);
  const Bytes nothing;
  const auto any = [&]() -> const Bytes& {
    return inputs.empty() ? nothing : inputs[mutator.below(inputs.size())];
  };
  for (std::uint64_t i = 0; i < options.runs; ++i) {
    const Bytes& one = any();
    run(target, mutator.change(one, any(), kInputBytesMax));
  }
}

int main_of(std::span<char* const> arguments) {
  const auto found = arguments.size() < 2 ? targets().end() : targets().find(arguments[1]);
  if (found == targets().end()) {
    std::fputs("usage: TARGET FILE_OR_FOLDER... [--runs N] [--seed S]; the targets are", stderr);
    for (const auto& [name, target] : targets()) std::fprintf(stderr, " %s", name.data());
    std::fputs("\n", stderr);
    return 2;
  }
  g_program = arguments[0];
  g_target = found->first.data();
  const Options options = parse(arguments.subspan(2));
  watch_for_the_end();
  const std::vector<Bytes> inputs = read_all(options.places);
  for (const Bytes& input : inputs) run(found->second, input);
  run_changed(found->second, inputs, options);
  std::printf("%s: %zu inputs of the corpus, %llu changed ones\n", g_target, inputs.size(),
              static_cast<unsigned long long>(options.runs));
  return 0;
}

}  // namespace

Registration::Registration(const char* name, Target target) noexcept {
  targets().emplace(name, target);
}

}  // namespace exs::fuzz

int main(int argc, char** argv) {
  return exs::fuzz::main_of(std::span(argv, static_cast<std::size_t>(argc)));
}
