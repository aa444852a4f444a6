// Wireshark's dissectors, an implementation that is not ours, must understand every byte two ports exchange.
// SPDX-License-Identifier: BSD-2-Clause
#include <array>
#include <boost/test/unit_test.hpp>
#include <cstdio>
#include <filesystem>
#include <map>
#include <sstream>

#include "tests/provider/iwarp/link_pair.h"
#include "tests/provider/iwarp/pcap_relay.h"

using namespace exs;
using namespace exs::iwarp;
using namespace exs::iwarp::test;

namespace tshark_test {

std::string output_of(const std::string& command) {
  std::string output;
  FILE* pipe = ::popen(command.c_str(), "r");
  require(pipe != nullptr, "popen");
  std::array<char, 4096> room;
  while (const std::size_t got = std::fread(room.data(), 1, room.size(), pipe))
    output.append(room.data(), got);
  require(::pclose(pipe) == 0, "the command failed");
  return output;
}

// RPC over RDMA guesses at every payload, and calls those too short for it malformed.
std::string tshark(const std::string& capture, const std::string& arguments) {
  return output_of("tshark --enable-heuristic iwarp_mpa_tcp --disable-protocol rpcordma -r '" + capture +
                   "' " + arguments + " 2>/dev/null");
}

// How often each value occurs; tshark separates several of one packet by commas, packets by lines.
std::map<std::string, int> counts_of(std::string text) {
  std::replace(text.begin(), text.end(), ',', '\n');
  std::istringstream lines(text);
  std::map<std::string, int> counts;
  for (std::string line; std::getline(lines, line);) {
    if (!line.empty()) ++counts[line];
  }
  return counts;
}

std::size_t occurrences(const std::string& text, const std::string& what) {
  std::size_t count = 0;
  for (std::size_t at = text.find(what); at != std::string::npos; at = text.find(what, at + 1)) ++count;
  return count;
}

class ScratchFolder {
 public:
  ScratchFolder() {
    std::string name = std::filesystem::temp_directory_path() / "exs-tshark-XXXXXX";
    require(::mkdtemp(name.data()) != nullptr, "mkdtemp");
    path_ = name;
  }
  ~ScratchFolder() { std::filesystem::remove_all(path_); }
  [[nodiscard]] std::string file(const char* name) const { return path_ / name; }

 private:
  std::filesystem::path path_;
};

struct RelayedPair {
  explicit RelayedPair(const Settings& settings) : client_port(settings), server_port(settings) {
    listener = *server_port->connector()->listen(listening.socket.get(), {16, 0}, kListenerToken);
    client = *client_port->connector()->connect(client_socket.get(), relay.entry.as_sockaddr(),
                                                sizeof relay.entry.address, {bytes_of("capture"), depths},
                                                kClientToken);
    relay.join();
    until(server_port, CompletionKind::kRequest, kListenerToken);
    std::unique_ptr<ConnectionRequest> request = listener->next_request();
    server_socket = Socket(request->release_descriptor());
    server = *server_port->connector()->accept(std::move(request), server_socket.get(), {{}, depths},
                                               kServerToken);
    until(client_port, CompletionKind::kEstablished, kClientToken);
  }

  template <typename Done>
  void until_holds(Done done) {
    for (;;) {
      client_port.turn();
      server_port.turn();
      const bool moved = relay.pump();
      if (done()) return;
      if (moved) continue;
      pollfd waits[] = {{client_port->wait_fd(), POLLIN, 0},
                        {server_port->wait_fd(), POLLIN, 0},
                        {relay.descriptor(0), POLLIN, 0},
                        {relay.descriptor(1), POLLIN, 0}};
      require(::poll(waits, 4, kWaitLimitMs) > 0, "nothing happened for a long time");
    }
  }
  Completion until(PortDriver& where, CompletionKind kind, std::uint64_t link) {
    std::optional<Completion> found;
    until_holds([&] {
      found = where.take(kind, link);
      return found.has_value();
    });
    return *found;
  }

  const LinkDepths depths{64, 64, 16, 16};
  ListeningSocket listening;
  PcapRelay relay{listening};
  PortDriver client_port;
  PortDriver server_port;
  Socket client_socket = tcp_socket();
  Socket server_socket;
  std::unique_ptr<PortListener> listener;
  std::unique_ptr<Link> client;
  std::unique_ptr<Link> server;
};

constexpr std::size_t kMessageSizes[] = {0, 1, 2, 3, 4, 5, 100, 1000, 65000};
constexpr std::size_t kTransferSizes[] = {0, 1, 7, 1436, 65472, 65473, 200001};

int fpdus(std::size_t bytes, std::size_t payload_max) {
  return bytes == 0 ? 1 : static_cast<int>((bytes + payload_max - 1) / payload_max);
}

}  // namespace tshark_test

BOOST_AUTO_TEST_SUITE(tshark_test)

BOOST_AUTO_TEST_CASE(every_fpdu_is_dissected_and_none_is_malformed) {
  const ScratchFolder folder;
  for (const bool crc : {false, true}) {
    for (const std::uint32_t payload_max : {kPayloadMax, 1436U}) {
      Settings settings;
      settings.want_crc = crc;
      settings.payload_max = payload_max;
      RelayedPair pair(settings);
      std::vector<std::byte> memory = pattern(200001);
      std::vector<std::byte> room(65000);
      const Result<RemoteSlice> window = pair.server->expose(slice_of(memory), Access::kRemoteReadWrite);
      BOOST_REQUIRE(window.has_value());
      std::map<std::string, int> expected;
      for (const std::size_t bytes : kMessageSizes) {
        BOOST_REQUIRE(pair.server->post_recv(slice_of(room), bytes).ok());
        BOOST_REQUIRE(pair.client->post_send({}, {memory.data(), bytes, {}}, bytes).ok());
        BOOST_TEST(pair.until(pair.server_port, CompletionKind::kReceive, kServerToken).length_bytes ==
                   bytes);
        expected["0x03"] += fpdus(bytes, payload_max);
      }
      for (const std::size_t bytes : kTransferSizes) {
        std::vector<std::byte> sink(bytes);
        BOOST_REQUIRE(pair.client->post_read(slice_of(sink), *window, bytes).ok());
        BOOST_REQUIRE(pair.client->post_write(slice_of(sink), *window, bytes).ok());
        pair.until(pair.client_port, CompletionKind::kRead, kClientToken);
        pair.until(pair.client_port, CompletionKind::kWrite, kClientToken);
        expected["0x01"] += 1;
        expected["0x02"] += fpdus(bytes, payload_max);
        expected["0x00"] += fpdus(bytes, payload_max);
      }
      std::byte sink[4];
      RemoteSlice elsewhere = *window;
      elsewhere.address += window->length_bytes;
      BOOST_REQUIRE(pair.client->post_read({sink, 4, {}}, elsewhere, 1).ok());
      pair.until(pair.client_port, CompletionKind::kDisconnected, kClientToken);
      expected["0x01"] += 1;
      expected["0x07"] += 1;
      pair.until_holds([&] { return pair.relay.ended(); });

      const std::string capture = folder.file("exchange.pcap");
      pair.relay.write_capture(capture);
      BOOST_TEST((counts_of(tshark(capture, "-Y iwarp_mpa -T fields -e iwarp_rdma.opcode")) == expected));
      BOOST_TEST(tshark(capture, "-Y _ws.malformed").empty());
      const std::string checks = tshark(capture, "-Y iwarp_mpa -V");
      int all = 0;
      for (const auto& [opcode, count] : expected) all += count;
      BOOST_TEST(occurrences(checks, "Bad CRC32") == 0U);
      BOOST_TEST(occurrences(checks, "Good CRC32") == (crc ? static_cast<std::size_t>(all) : 0U));
      BOOST_TEST(occurrences(checks, "MPA ID Req Frame") + occurrences(checks, "Request frame header") > 0U);
    }
  }
}

BOOST_AUTO_TEST_SUITE_END()
