// exs-rpcgen: reads an interface, and tells what is wrong with it or how it lies in messages.
#include <cstdio>
#include <fstream>
#include <iterator>
#include <set>
#include <string>
#include <string_view>

#include "rpc/generator/parser.h"
#include "rpc/generator/report.h"

namespace {

constexpr const char* kHelp =
    "exs-rpcgen [OPTION...] FILE.x\n"
    "Checks an interface in the language of rpcgen, and prints the layout of its types in messages of "
    "exs-rpc.\n"
    "  --define=NAME   #ifdef finds NAME\n"
    "  --check         print nothing but what is wrong\n"
    "  --help          print this\n";

struct Wishes {
  std::set<std::string> defined;
  std::string file;
  bool only_checks = false;
};

// False: the arguments are not what they should be.
bool read_arguments(int count, char** arguments, Wishes& wishes) {
  constexpr std::string_view kDefine = "--define=";
  for (int i = 1; i < count; ++i) {
    const std::string_view argument = arguments[i];
    if (argument == "--check") {
      wishes.only_checks = true;
    } else if (argument.substr(0, kDefine.size()) == kDefine) {
      wishes.defined.emplace(argument.substr(kDefine.size()));
    } else if (argument.substr(0, 1) == "-" || !wishes.file.empty()) {
      return false;
    } else {
      wishes.file = argument;
    }
  }
  return !wishes.file.empty();
}

int translate(const Wishes& wishes) {
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
    if (!wishes.only_checks) std::fputs(exs::generator::report(interface).c_str(), stdout);
  } catch (const exs::generator::Failure& failure) {
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
  Wishes wishes;
  if (!read_arguments(count, arguments, wishes)) {
    std::fputs(kHelp, stderr);
    return 1;
  }
  return translate(wishes);
}
