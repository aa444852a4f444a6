// exs-rpcgen: reads an interface and writes its stubs, or reports its error.
// SPDX-License-Identifier: BSD-2-Clause
#include <cstdio>
#include <fstream>
#include <iterator>
#include <set>
#include <string>
#include <string_view>

#include "rpc/generator/c_output.h"
#include "rpc/generator/parser.h"
#include "rpc/generator/report.h"

namespace {

using exs::generator::IdlInterface;

constexpr const char* kHelp =
    "exs-rpcgen [OPTION...] FILE.x\n"
    "Writes stubs of exs-rpc for an interface in the language of rpcgen: FILE_exs.h and\n"
    "FILE_exs.c for both ends, and FILE_exs_serve.c for the server.\n"
    "  --output=DIR    write there instead of here\n"
    "  --types=rpcgen  use the types of rpcgen's FILE.h; functions begin with exs_ then\n"
    "  --define=NAME   #ifdef finds NAME\n"
    "  --report        write no stubs: print how the types lie in messages\n"
    "  --check         write no stubs: print errors alone\n"
    "  --help          print this summary and exit\n"
    "  --version       print the version and exit\n";

struct GeneratorArguments {
  std::set<std::string> defined;
  std::string file;
  std::string folder = ".";
  bool has_own_types = true;
  bool wants_report = false;
  bool only_checks = false;
};

// Returns the text behind an option's "=", or NULL for another option.
const char* value_of(std::string_view argument, std::string_view option) {
  return argument.substr(0, option.size()) == option ? argument.data() + option.size() : nullptr;
}

// Returns false if the arguments are invalid.
bool read_arguments(int count, char** arguments, GeneratorArguments& wishes) {
  for (int i = 1; i < count; ++i) {
    const std::string_view argument = arguments[i];
    if (argument == "--check") {
      wishes.only_checks = true;
    } else if (argument == "--report") {
      wishes.wants_report = true;
    } else if (const char* const name = value_of(argument, "--define=")) {
      wishes.defined.emplace(name);
    } else if (const char* const folder = value_of(argument, "--output=")) {
      wishes.folder = folder;
    } else if (argument == "--types=rpcgen" || argument == "--types=exs") {
      wishes.has_own_types = argument == "--types=exs";
    } else if (argument.substr(0, 1) == "-" || !wishes.file.empty()) {
      std::fprintf(stderr, "exs-rpcgen: %s: unknown option, or a second FILE.x\n", arguments[i]);
      return false;
    } else {
      wishes.file = argument;
    }
  }
  return !wishes.file.empty();
}

// Returns "demo" for "there/demo.x".
std::string bare_name(const std::string& path) {
  const std::string file = path.substr(path.rfind('/') + 1);
  const std::size_t ending = file.rfind('.');
  return ending == std::string::npos || ending == 0 ? file : file.substr(0, ending);
}

bool write(const std::string& path, const std::string& text) {
  std::ofstream file(path, std::ios::binary | std::ios::trunc);
  file << text << std::flush;
  if (!file.fail()) return true;
  std::fprintf(stderr, "%s: cannot be written: name another folder with --output\n", path.c_str());
  return false;
}

bool write_stubs(const IdlInterface& interface, const GeneratorArguments& wishes) {
  const exs::generator::Spelling spelling{wishes.has_own_types, bare_name(wishes.file)};
  const std::string start = wishes.folder + "/" + spelling.name + "_exs";
  return write(start + ".h", c_header(interface, spelling)) &&
         write(start + ".hpp", cpp_header(interface, spelling)) &&
         write(start + ".c", c_source(interface, spelling)) &&
         write(start + "_serve.c", c_service(interface, spelling));
}

int translate(const GeneratorArguments& wishes) {
  std::ifstream file(wishes.file, std::ios::binary);
  const std::string text{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  if (!file.is_open() || file.bad()) {
    std::fprintf(stderr, "%s: cannot be read: name a file of yours\n", wishes.file.c_str());
    return 1;
  }
  try {
    using exs::generator::Lexer;
    using exs::generator::Parser;
    const auto interface = Parser(Lexer(text, wishes.defined).run()).run();
    if (wishes.wants_report) std::fputs(exs::generator::report(interface).c_str(), stdout);
    if (!wishes.wants_report && !wishes.only_checks && !write_stubs(interface, wishes)) return 1;
  } catch (const exs::generator::GeneratorFailure& failure) {
    std::fprintf(stderr, "%s:%s\n", wishes.file.c_str(), failure.what());
    return 1;
  }
  return std::fflush(stdout) == 0 ? 0 : 1;
}

}  // namespace

int main(int count, char** arguments) {
  if (count == 2 && std::string_view(arguments[1]) == "--help") {
    std::fputs(kHelp, stdout);
    return 0;
  }
  if (count == 2 && std::string_view(arguments[1]) == "--version") {
    std::puts("exs-rpcgen " EXS_VERSION_TEXT);
    return 0;
  }
  GeneratorArguments wishes;
  if (!read_arguments(count, arguments, wishes)) {
    std::fputs(kHelp, stderr);
    return 2;
  }
  return translate(wishes);
}
