// The command line of a program: its options, --help, --version, and how its main() ends. This is the only header of ours that includes
// CLI11.
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace tools {

// One option of a CommandLine, which outlives it. Each call returns the option, so calls can be chained.
class Option {
 public:
  explicit Option(CLI::Option* option) : option_(option) {}

  // Both bounds are valid values.
  Option between(std::uint64_t min, std::uint64_t max) const;
  Option between(double min, double max) const;
  Option one_of(const std::vector<std::string>& values) const;
  Option one_of_in_any_case(const std::vector<std::string>& values) const;
  Option ipv4_address() const;
  // --help shows this in place of the kind of value.
  Option value_name(const std::string& name) const;
  // --help shows the target's current value.
  Option shows_default() const;
  Option required() const;
  Option excludes(const Option& other) const;

  // Valid after CommandLine::parse().
  [[nodiscard]] bool is_given() const;

 private:
  CLI::Option* option_;
};

// The targets of options outlive the command line. They keep their values unless the option is given.
class CommandLine {
 public:
  // --help begins with "NAME: SUMMARY".
  CommandLine(const std::string& name, const std::string& summary);
  ~CommandLine();
  CommandLine(const CommandLine&) = delete;
  CommandLine& operator=(const CommandLine&) = delete;

  // Options that are added from now on are in this group of --help. The first group is "Options".
  void group(const std::string& name);

  // `names`: "-p,--port"; a name without a dash is an argument.
  Option add(const std::string& names, std::string& target, const std::string& help);
  Option add(const std::string& names, std::uint16_t& target, const std::string& help);
  Option add(const std::string& names, std::uint32_t& target, const std::string& help);
  Option add(const std::string& names, std::uint64_t& target, const std::string& help);
  Option add(const std::string& names, double& target, const std::string& help);
  Option add(const std::string& names, std::vector<std::string>& targets, const std::string& help);
  Option add_flag(const std::string& names, bool& target, const std::string& help);
  // The value is one of `values`; `choose` is called with its index.
  Option add_choice(const std::string& names, const std::vector<std::string>& values,
                    const std::function<void(std::size_t)>& choose, const std::string& help);

  // "-p,--port", 0 to 65535.
  Option add_port(std::uint16_t& target, const std::string& help);
  // "--json", for one JSON object.
  Option add_json_flag(bool& target);
  // "--bind ADDRESS", of IPv4.
  Option add_bind_address(std::string& target);

  // Throws Exit after --help, after --version, and after reporting an invalid command line.
  void parse(int argc, const char* const* argv);

 private:
  [[nodiscard]] Option added(CLI::Option* option) const;

  std::unique_ptr<CLI::App> app_;
  std::string group_ = "Options";
};

// The shortest --time.
inline constexpr double kSecondsMin = 0.001;

// The whole main(): the result of `body` is the exit status. An exception, and output that cannot be written, are reported in one line;
// the status is 2 for a UsageError, else 1.
int run_main(const std::string& name, const std::function<int()>& body);

}  // namespace tools
