#include "tools/common/command_line.h"

#include <exs/exs.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>

#include "tools/common/failure.h"

namespace tools {

Option Option::between(std::uint64_t min, std::uint64_t max) const {
  return Option(option_->check(CLI::Range(min, max)));
}

Option Option::between(double min, double max) const {
  return Option(option_->check(CLI::Range(min, max)));
}

Option Option::one_of(const std::vector<std::string>& values) const {
  return Option(option_->check(CLI::IsMember(values)));
}

Option Option::one_of_in_any_case(const std::vector<std::string>& values) const {
  return Option(option_->check(CLI::IsMember(values, CLI::ignore_case)));
}

Option Option::ipv4_address() const {
  return Option(option_->type_name("ADDRESS")->check(CLI::ValidIPV4));
}

Option Option::value_name(const std::string& name) const {
  return Option(option_->type_name(name));
}

Option Option::shows_default() const {
  return Option(option_->capture_default_str());
}

Option Option::required() const {
  return Option(option_->required());
}

Option Option::excludes(const Option& other) const {
  return Option(option_->excludes(other.option_));
}

bool Option::is_given() const {
  return option_->count() > 0;
}

CommandLine::CommandLine(const std::string& name, const std::string& summary)
    : app_(std::make_unique<CLI::App>(name + ": " + summary, name)) {
  app_->set_version_flag("--version", name + " " + exs_version_string());
  app_->failure_message([](const CLI::App* failed, const CLI::Error& error) {
    return failed->get_name() + ": " + error.what() + " (see --help)\n";
  });
}

CommandLine::~CommandLine() = default;

Option CommandLine::add(const std::string& names, std::string& target, const std::string& help) {
  return Option(app_->add_option(names, target, help));
}

Option CommandLine::add(const std::string& names, std::uint16_t& target, const std::string& help) {
  return Option(app_->add_option(names, target, help));
}

Option CommandLine::add(const std::string& names, std::uint32_t& target, const std::string& help) {
  return Option(app_->add_option(names, target, help));
}

Option CommandLine::add(const std::string& names, std::uint64_t& target, const std::string& help) {
  return Option(app_->add_option(names, target, help));
}

Option CommandLine::add(const std::string& names, double& target, const std::string& help) {
  return Option(app_->add_option(names, target, help));
}

Option CommandLine::add(const std::string& names, std::vector<std::string>& targets,
                        const std::string& help) {
  return Option(app_->add_option(names, targets, help));
}

Option CommandLine::add_flag(const std::string& names, bool& target, const std::string& help) {
  return Option(app_->add_flag(names, target, help));
}

Option CommandLine::add_choice(const std::string& names, const std::vector<std::string>& values,
                               const std::function<void(std::size_t)>& choose, const std::string& help) {
  const auto index_of = [values](const std::string& word) {
    return static_cast<std::size_t>(std::find(values.begin(), values.end(), word) - values.begin());
  };
  const auto chosen = [index_of, choose](const std::string& word) { choose(index_of(word)); };
  const auto check = [index_of, values](const std::string& word) {
    const bool known = index_of(word) < values.size();
    return known ? std::string() : "\"" + word + "\" is none of " + CLI::detail::join(values, ", ");
  };
  return Option(app_->add_option_function<std::string>(names, chosen, help)
                    ->type_name(CLI::detail::join(values, "|"))
                    ->check(CLI::Validator(check, "")));
}

Option CommandLine::add_port(std::uint16_t& target, const std::string& help) {
  const auto check = [](const std::string& word) {
    constexpr unsigned long kPortMax = 65535;
    const bool is_number =
        !word.empty() && word.size() <= 5 && word.find_first_not_of("0123456789") == std::string::npos;
    return is_number && std::stoul(word) <= kPortMax ? std::string()
                                                     : "\"" + word + "\" is no port: ports are 0 to 65535";
  };
  return Option(app_->add_option("-p,--port", target, help)
                    ->type_name("PORT")
                    ->check(CLI::Validator(check, ""))
                    ->capture_default_str());
}

Option CommandLine::add_json_flag(bool& target) {
  return add_flag("--json", target, "Print one JSON object in place of a table");
}

Option CommandLine::add_bind_address(std::string& target) {
  return add("--bind", target, "IPv4 address of this machine that both ends use")
      .ipv4_address()
      .shows_default();
}

void CommandLine::parse(int argc, const char* const* argv) {
  try {
    app_->parse(argc, argv);
  } catch (const CLI::RequiredError& error) {
    // An unknown word is reported first: it was meant to be something else.
    const std::vector<std::string> unknown = app_->remaining();
    if (!unknown.empty()) throw Exit{app_->exit(CLI::ExtrasError(unknown)) == 0 ? 0 : 2};
    throw Exit{app_->exit(error) == 0 ? 0 : 2};
  } catch (const CLI::ParseError& error) {
    throw Exit{app_->exit(error) == 0 ? 0 : 2};
  }
}

int run_main(const std::string& name, const std::function<int()>& body) {
  try {
    return body();
  } catch (const Exit& exit) {
    return exit.status;
  } catch (const UsageError& error) {
    std::fprintf(stderr, "%s: %s (see --help)\n", name.c_str(), error.what());
    return 2;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s: %s\n", name.c_str(), error.what());
    return 1;
  }
}

}  // namespace tools
