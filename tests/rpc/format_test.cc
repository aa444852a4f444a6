// The bytes of messages and windows are those that rpc/FORMAT.md documents.
// SPDX-License-Identifier: BSD-2-Clause
#include <boost/test/unit_test.hpp>

#include <array>
#include <cstddef>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "rpc/channel/frame.h"
#include "rpc/fast/greeting.h"
#include "rpc/fast/header.h"
#include "rpc/fast/window.h"

namespace exs::test {
namespace rpc_format_test {

using rpc::CallHeader;
using rpc::CallMessage;
using rpc::FrameType;
using rpc::ReplyStatus;

struct Row {
  std::string field;
  std::size_t offset = 0;
  std::size_t length = 0;
  bool operator==(const Row&) const = default;
};
std::ostream& operator<<(std::ostream& out, const Row& row) {
  return out << row.field << " at " << row.offset << ", " << row.length;
}

// A section of FORMAT.md: its table, the sum that it states, and its lines.
struct Section {
  std::vector<Row> rows;
  std::size_t stated_bytes = 0;
  std::string text;
};

Section read_section(const std::string& name) {
  std::ifstream file(EXS_SOURCE_FOLDER "/rpc/FORMAT.md");
  BOOST_REQUIRE(file.is_open());
  Section section;
  bool is_here = false;
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with("#")) is_here = line.ends_with("# " + name);
    if (!is_here) continue;
    section.text += line + "\n";
    std::array<char, 32> field{};
    Row row;
    if (std::sscanf(line.c_str(), "| %zu | %zu | %31[a-z_]", &row.offset, &row.length, field.data()) == 3) {
      row.field = field.data();
      section.rows.push_back(row);
    }
    std::sscanf(line.c_str(), "The fields are %zu bytes", &section.stated_bytes);
  }
  BOOST_REQUIRE_MESSAGE(!section.text.empty(), "no section " << name);
  return section;
}

void check_rows(const std::string& name, const std::vector<Row>& expected) {
  const Section section = read_section(name);
  BOOST_TEST(section.rows == expected, boost::test_tools::per_element());
}

// The table is without gap or overlap, and as long as it says.
void check_table(const std::string& name, const std::vector<Row>& expected, std::size_t bytes) {
  check_rows(name, expected);
  std::size_t next = 0;
  for (const Row& row : expected) {
    BOOST_TEST(row.offset == next, name << "." << row.field);
    next += row.length;
  }
  BOOST_TEST(next == bytes, name);
  BOOST_TEST(read_section(name).stated_bytes == bytes, name);
}

void check_words(const std::string& name, const std::string& words) {
  BOOST_TEST((read_section(name).text.find(words) != std::string::npos), name << ": " << words);
}

std::string numbered(unsigned number, const std::string& what) {
  return std::to_string(number) + " " + what;
}

template <typename Words>
std::vector<std::byte> copied_bytes(const Words& words) {
  const auto bytes = rpc::bytes_of(words);
  return {bytes.begin(), bytes.end()};
}

std::uint32_t word_at(std::span<const std::byte> bytes, std::size_t offset) {
  std::uint32_t word = 0;
  std::memcpy(&word, bytes.data() + offset, sizeof word);
  return word;
}

}  // namespace rpc_format_test

BOOST_AUTO_TEST_SUITE(format_test)

using namespace rpc_format_test;

BOOST_AUTO_TEST_CASE(a_frame_is_laid_out_as_documented) {
  check_table("Frame", {{"type", 0, 1}, {"has_all", 1, 1}, {"reserved", 2, 2}, {"length", 4, 4}},
              rpc::kFrameBytes);
  std::array<std::byte, rpc::kFrameBytes> bytes{};
  rpc::put_frame({FrameType::kLong, 0x01020304, true}, bytes.data());
  constexpr std::array<unsigned char, rpc::kFrameBytes> kDocumented = {4, 1, 0, 0, 1, 2, 3, 4};
  BOOST_TEST(std::memcmp(bytes.data(), kDocumented.data(), bytes.size()) == 0);
  check_words("Frame", numbered(static_cast<unsigned>(FrameType::kHello), "HELLO") + ", " +
                           numbered(static_cast<unsigned>(FrameType::kWelcome), "WELCOME") + ", " +
                           numbered(static_cast<unsigned>(FrameType::kMessage), "MESSAGE") + ", " +
                           numbered(static_cast<unsigned>(FrameType::kLong), "LONG"));
  BOOST_TEST(rpc::kInlineBytes == 4096U);
  check_words("Frame", "4,096 at most");
}

BOOST_AUTO_TEST_CASE(the_greetings_are_laid_out_as_documented) {
  using rpc::ProgramHello;
  using rpc::ServerWelcome;
  check_table("HELLO",
              {{"magic", offsetof(ProgramHello, magic), 8},
               {"program", offsetof(ProgramHello, program), 4},
               {"version", offsetof(ProgramHello, version), 4}},
              sizeof(ProgramHello));
  BOOST_TEST(std::memcmp(copied_bytes(ProgramHello()).data(), "exs-rpc\1", 8) == 0);
  check_words("HELLO", "`exs-rpc`, and a byte 1");
  check_table("WELCOME",
              {{"reason", offsetof(ServerWelcome, reason), 4},
               {"slots", offsetof(ServerWelcome, slots), 4},
               {"longest", offsetof(ServerWelcome, longest), 4},
               {"reserved", offsetof(ServerWelcome, reserved), 4}},
              sizeof(ServerWelcome));
  using Reason = ServerWelcome::Reason;
  check_words("WELCOME", std::to_string(static_cast<unsigned>(Reason::kNoProgram)) + ": no such program, " +
                             std::to_string(static_cast<unsigned>(Reason::kNoVersion)) +
                             ": no such version, " + std::to_string(static_cast<unsigned>(Reason::kFull)) +
                             ": too many clients");
  check_table(
      "HELLO of a window",
      {{"magic", offsetof(rpc::WindowHello, magic), 8}, {"token", offsetof(rpc::WindowHello, token), 8}},
      sizeof(rpc::WindowHello));
  BOOST_TEST(std::memcmp(copied_bytes(rpc::WindowHello()).data(), "exs-rpcw", 8) == 0);
}

BOOST_AUTO_TEST_CASE(a_header_is_laid_out_as_documented) {
  check_table("Header",
              {{"sequence", offsetof(CallHeader, sequence), 4},
               {"length", offsetof(CallHeader, length), 4},
               {"procedure", offsetof(CallHeader, procedure), 2},
               {"kind", offsetof(CallHeader, kind), 1},
               {"is_timed", offsetof(CallHeader, is_timed), 1},
               {"micros", offsetof(CallHeader, micros), 4}},
              rpc::kHeaderBytes);
  check_words("Header", numbered(static_cast<unsigned>(CallMessage::kTable), "table") + ", " +
                            numbered(static_cast<unsigned>(CallMessage::kCall), "call") + ", " +
                            numbered(static_cast<unsigned>(CallMessage::kReply), "reply") + ", " +
                            numbered(static_cast<unsigned>(CallMessage::kCancel), "cancel") + ", " +
                            numbered(static_cast<unsigned>(CallMessage::kWindow), "wish for a window"));
  const std::map<ReplyStatus, std::string> statuses = {
      {ReplyStatus::kOk, "the result follows"},
      {ReplyStatus::kFailed, "the procedure failed, and its number follows, 4 bytes"},
      {ReplyStatus::kOverdue, "not executed, too late"},
      {ReplyStatus::kNoMemory, "not executed, no memory"},
      {ReplyStatus::kNoResult, "executed, the result cannot be sent"},
  };
  for (const auto& [status, words] : statuses)
    check_words("Header", "- " + std::to_string(static_cast<unsigned>(status)) + ": " + words);
  BOOST_TEST(rpc::kSlotsMax == 1U << 6U);
  check_words("Header", "lowest 6 bits");
}

BOOST_AUTO_TEST_CASE(a_table_is_laid_out_as_documented) {
  check_table("Table",
              {{"number", offsetof(rpc::TableEntry, number), 4},
               {"reserved", offsetof(rpc::TableEntry, reserved), 4},
               {"hash", offsetof(rpc::TableEntry, hash), 8}},
              sizeof(rpc::TableEntry));
  BOOST_TEST(rpc::kProceduresMax == 4096U);
  check_words("Table", "4,096 procedures at most");
}

BOOST_AUTO_TEST_CASE(a_window_is_laid_out_as_documented) {
  check_rows("Window", {{"server_sleeps", rpc::kServerSleepsOffset, 4},
                        {"client_sleeps", rpc::kClientSleepsOffset, 4},
                        {"bell", rpc::kBellOffset, 4},
                        {"slot", rpc::kPlacesOffset, rpc::kPlaceBytes}});
  BOOST_TEST(rpc::window_bytes(3) == rpc::kPlacesOffset + 3 * rpc::kPlaceBytes);
  check_words("Window", "its bytes 0 to 59 at 0, the others from 64 on");
  check_words("Window", "its sequence stands at 60");
}

// A call of more than a line, and then a reply, in the second slot.
BOOST_AUTO_TEST_CASE(a_message_lies_in_a_window_as_documented) {
  constexpr std::size_t kPlace = rpc::kPlacesOffset + rpc::kPlaceBytes;
  constexpr std::size_t kBytes = 100;
  alignas(rpc::kLineBytes) static std::array<std::byte, rpc::window_bytes(2)> window;
  window.fill({});
  std::array<std::byte, kBytes> message{};
  for (std::size_t i = 0; i < kBytes; ++i) message[i] = static_cast<std::byte>(i + 1);
  const rpc::WindowPlaces places(window.data());
  places.write_call(1, message.data(), kBytes);
  BOOST_TEST(std::memcmp(window.data() + kPlace, message.data(), 60) == 0);
  BOOST_TEST(std::memcmp(window.data() + kPlace + 64, message.data() + 60, kBytes - 60) == 0);
  BOOST_TEST(word_at(window, kPlace + 60) == 0U);
  const std::uint32_t sequence = word_at(window, kPlace);
  message[0] = std::byte{0x77};
  places.write_reply(1, message.data(), kBytes);
  BOOST_TEST(word_at(window, kPlace) == sequence);
  BOOST_TEST(word_at(window, kPlace + 60) == word_at(message, 0));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace exs::test
