// SPDX-License-Identifier: BSD-2-Clause
#include "tools/common/command_line.h"

#include <exs/exs.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <sstream>
#include <utility>

#include "tools/common/failure.h"

namespace tools {
namespace {

constexpr std::size_t kWidth = 90;
constexpr std::size_t kColumn = 30;  // where texts of options begin

// Breaks lines that are longer. None begins with a dash, so a line that does is an option.
std::string wrapped(const std::string& text, std::size_t width) {
  std::string out;
  std::size_t line_begin = 0;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    if (!out.empty()) out += '\n';
    line_begin = out.size();
    std::string piece;  // words that stay together
    std::istringstream words(line);
    for (std::string word; words >> word;) {
      piece += piece.empty() ? word : " " + word;
      if ((words >> std::ws).peek() == '-') continue;
      if (out.size() > line_begin) {
        const bool fits = out.size() - line_begin + 1 + piece.size() <= width;
        out += fits ? ' ' : '\n';
        if (!fits) line_begin = out.size();
      }
      out += std::exchange(piece, {});
    }
  }
  return out;
}

// CLI11 takes "[a,b]" for several values. parse() puts a zero behind such a word, which no argument has.
CLI::Option* with_whole_words(CLI::Option* option) {
  return option->transform([](std::string word) {
    std::erase(word, '\0');
    return word;
  });
}

// The form of --help: lines of at most kWidth columns.
class Form : public CLI::Formatter {
 public:
  Form() { column_width(kColumn); }
  std::string make_description(const CLI::App* app) const override {
    return wrapped(app->get_description(), kWidth) + "\n";
  }
  // One blank line between groups is enough.
  std::string make_help(const CLI::App* app, std::string name, CLI::AppFormatMode mode) const override {
    std::string text = CLI::Formatter::make_help(app, std::move(name), mode);
    for (std::size_t at = 0; (at = text.find("\n\n\n", at)) != std::string::npos;) text.erase(at, 1);
    return text;
  }
  std::string make_option_desc(const CLI::Option* option) const override {
    return wrapped(option->get_description(), kWidth - kColumn);
  }
};

// What was printed but cannot be written makes a success a failure. A reader that has gone, or does not read, wanted no more.
int after_output(const std::string& name, int status) {
  errno = 0;
  const bool is_lost = std::fflush(stdout) != 0 || std::ferror(stdout) != 0;
  if (status != 0 || !is_lost || errno == EPIPE || errno == EAGAIN) return status;
  std::fprintf(stderr, "%s: standard output: %s\n", name.c_str(), std::strerror(errno == 0 ? EIO : errno));
  return 1;
}

}  // namespace

Option Option::between(std::uint64_t min, std::uint64_t max) const {
  return Option(option_->check(CLI::Range(min, max)));
}

Option Option::between(double min, double max) const {
  return Option(option_->check(CLI::Range(min, max)));
}

Option Option::one_of(const std::vector<std::string>& values) const {
  return Option(
      option_->type_name(CLI::detail::join(values, "|"))->check(CLI::IsMember(values).description("")));
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
  app_->formatter(std::make_shared<Form>());
  app_->set_help_flag();  // parse() adds it behind the other options
  app_->failure_message([](const CLI::App* failed, const CLI::Error& error) {
    return failed->get_name() + ": " + error.what() + " (see --help)\n";
  });
}

CommandLine::~CommandLine() = default;

void CommandLine::group(const std::string& name) {
  group_ = name;
}

Option CommandLine::added(CLI::Option* option) const {
  return Option(option->group(group_));
}

Option CommandLine::add(const std::string& names, std::string& target, const std::string& help) {
  return added(with_whole_words(app_->add_option(names, target, help)));
}

Option CommandLine::add(const std::string& names, std::uint16_t& target, const std::string& help) {
  return added(app_->add_option(names, target, help));
}

Option CommandLine::add(const std::string& names, std::uint32_t& target, const std::string& help) {
  return added(app_->add_option(names, target, help));
}

Option CommandLine::add(const std::string& names, std::uint64_t& target, const std::string& help) {
  return added(app_->add_option(names, target, help));
}

Option CommandLine::add(const std::string& names, double& target, const std::string& help) {
  return added(app_->add_option(names, target, help));
}

Option CommandLine::add(const std::string& names, std::vector<std::string>& targets,
                        const std::string& help) {
  return added(with_whole_words(app_->add_option(names, targets, help)));
}

Option CommandLine::add_flag(const std::string& names, bool& target, const std::string& help) {
  return added(app_->add_flag(names, target, help));
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
  return added(app_->add_option_function<std::string>(names, chosen, help)
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
  return added(app_->add_option("-p,--port", target, help)
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
  app_->set_help_flag("-h,--help", "Print this summary and exit")->group("Help");
  app_->set_version_flag("--version", app_->get_name() + " " + exs_version_string(),
                         "Print the version and exit")
      ->group("Help");
  std::vector<std::string> words;  // from the last to the first, as CLI11 takes them
  for (int i = argc - 1; i > 0; --i) {
    words.emplace_back(argv[i]);
    if (words.back().ends_with(']')) words.back() += '\0';
  }
  try {
    app_->parse(std::move(words));
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
    return after_output(name, body());
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
