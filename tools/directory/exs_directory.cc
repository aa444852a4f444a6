// exs-directory: knows where services are, for hosts on different links.
// SPDX-License-Identifier: BSD-2-Clause
#include <unistd.h>

#include <string>

#include "tools/common/command_line.h"
#include "tools/common/descriptor_limit.h"
#include "tools/common/failure.h"
#include "tools/common/lines.h"
#include "tools/directory/server.h"

namespace {

int run(int argc, char** argv) {
  std::string address = "0.0.0.0";
  std::string file;
  std::uint16_t port = exs::svc::kDirectoryPort;
  bool is_verbose = false;
  tools::CommandLine line("exs-directory",
                          "keep the addresses of services, and give them to processes that look for them");
  line.add_port(port, "TCP port to listen at; 0: a free one").shows_default();
  line.add("--bind", address, "Address to listen at, of IPv4 or IPv6").value_name("ADDRESS").shows_default();
  line.add("--file", file, "Keep the services in this file, and continue from it").value_name("PATH");
  line.add_flag("--verbose", is_verbose, "Log each service that is held or lost");
  line.parse(argc, argv);
  const auto listen =
      exs::parse_address(address.find(':') == std::string::npos ? address : "[" + address + "]");
  if (!listen) throw tools::UsageError("--bind: " + address + " is no address");
  tools::hold_standard_streams();
  tools::raise_descriptor_limit();  // for all the connections that it has places for
  exs::svc::DirectoryServer server(exs::with_port(*listen, port), file, is_verbose);
  tools::tell(STDOUT_FILENO, "port " + std::to_string(exs::port_number(server.address())));
  server.run();
}

}  // namespace

int main(int argc, char** argv) {
  return tools::run_main("exs-directory", [&] { return run(argc, argv); });
}
