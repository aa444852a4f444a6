// exs-sockets-agent: brings ends of connections between hosts together, so that their bytes go by RDMA.
// SPDX-License-Identifier: BSD-2-Clause
#include <unistd.h>

#include <string>

#include "sockets/between/format.h"
#include "tools/common/command_line.h"
#include "tools/common/descriptor_limit.h"
#include "tools/common/lines.h"
#include "tools/sockets_agent/agent.h"

namespace agent {
namespace {

int run(int argc, char** argv) {
  std::string address;
  std::uint16_t port = exs::sockets::between::kAgentPort;
  bool is_verbose = false;
  tools::CommandLine line("exs-sockets-agent",
                          "bring the ends of TCP connections between hosts together, so that programs run by "
                          "exs-run send by RDMA");
  line.add_port(port, "TCP port to listen at; 0: a free one").shows_default();
  line.add_bind_address(address);
  line.add_flag("--verbose", is_verbose, "Log each request");
  line.parse(argc, argv);
  tools::hold_standard_streams();
  tools::raise_descriptor_limit();  // for as many clients and cards as it has places
  Agent served(address, port, is_verbose);
  tools::tell(STDOUT_FILENO, "port " + std::to_string(served.port()));
  served.run();
}

}  // namespace
}  // namespace agent

int main(int argc, char** argv) {
  return tools::run_main("exs-sockets-agent", [&] { return agent::run(argc, argv); });
}
