// FORMAT.md beside the code: each row of a table is where the encoder puts the field, and nothing lies between the rows.
// SPDX-License-Identifier: BSD-2-Clause
#include <boost/test/unit_test.hpp>

#include <cstdio>
#include <fstream>
#include <map>
#include <string>
#include <vector>

#include "base/socket_address.h"
#include "service/names/capability.h"
#include "service/names/datagram.h"
#include "service/names/directory_wire.h"
#include "service/names/host_name.h"
#include "service/names/lease.h"
#include "service/wire/handover.h"
#include "tests/service/frame_layout.h"

namespace exs::svc {
namespace format_test {

using namespace exs::svc::test;

struct Row {
  std::size_t offset = 0;
  std::size_t bytes = 0;
};
struct Section {
  std::map<std::string, Row> rows;
  std::vector<std::string> order;
  std::size_t stated_bytes = 0;
  std::string text;
};

// By the words of its heading, of either level.
std::map<std::string, Section> read_format() {
  std::ifstream file(EXS_SOURCE_FOLDER "/service/FORMAT.md");
  BOOST_REQUIRE(file.is_open());
  std::map<std::string, Section> sections;
  Section* section = &sections[""];
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with("# ") || line.starts_with("## "))
      section = &sections[line.substr(line.find(' ') + 1)];
    section->text += line + "\n";
    Row row;
    char field[32] = {};
    const char* const text = line.c_str();
    const bool is_row =
        std::sscanf(text, "| %zu | %zu | %31[a-z_] |", &row.offset, &row.bytes, field) == 3 ||
        std::sscanf(text, "| %zu, %*u | %zu | %31[a-z_] |", &row.offset, &row.bytes, field) == 3;
    if (is_row) {
      section->order.emplace_back(field);
      section->rows[field] = row;
    }
    std::sscanf(text, "The fields are %zu bytes", &section->stated_bytes);
  }
  return sections;
}

const Section& section_of(const std::string& name) {
  static const std::map<std::string, Section> sections = read_format();
  BOOST_REQUIRE_MESSAGE(sections.contains(name), "no section " << name);
  return sections.at(name);
}

// The section has these rows and no others, one behind the other, and says the sum.
void check_rows(const std::string& name, const std::vector<std::string>& fields, std::size_t stated_bytes,
                std::size_t begin = 0) {
  const Section& section = section_of(name);
  BOOST_TEST(section.stated_bytes == stated_bytes, name);
  std::size_t next = begin;
  for (const std::string& field : fields) {
    BOOST_REQUIRE_MESSAGE(section.rows.contains(field), name << " has no row " << field);
    BOOST_TEST(section.rows.at(field).offset == next, name << "." << field);
    next = section.rows.at(field).offset + section.rows.at(field).bytes;
  }
}

// A change of the field changes all bytes of its row, and no others. `shift`: of a row that may stand further behind.
void check_place(const std::string& name, const std::string& field, const FrameBytes& before,
                 const FrameBytes& after, std::size_t shift = 0) {
  const Section& section = section_of(name);
  BOOST_REQUIRE_MESSAGE(section.rows.contains(field), name << " has no row " << field);
  const Row row = section.rows.at(field);
  BOOST_REQUIRE(before.size() == after.size());
  BOOST_REQUIRE(row.offset + shift + row.bytes <= before.size());
  for (std::size_t i = 0; i < before.size(); ++i) {
    const bool is_in = i >= row.offset + shift && i < row.offset + shift + row.bytes;
    BOOST_TEST((before[i] != after[i]) == is_in, name << "." << field << ", byte " << i);
  }
}

void check_line(const std::string& name, const std::string& line) {
  BOOST_TEST((section_of(name).text.find(line) != std::string::npos), name << ": " << line);
}

std::string type_row(unsigned type, const std::string& name) {
  return "| " + std::to_string(type) + " | " + name + " | ";
}
template <typename Type>
void check_type(const std::string& section, Type type, const std::string& words) {
  check_line(section, type_row(static_cast<unsigned>(type), words));
}

// ---------------------------------------------------------------- samples, of which all fields are 0 or all are ff

template <std::size_t kBytes>
std::array<std::uint8_t, kBytes> filled(std::uint8_t value) {
  std::array<std::uint8_t, kBytes> bytes;
  bytes.fill(value);
  return bytes;
}

FrameBytes header(const Header& fields) {
  return made_by([&](auto room) { return encode_bare(room, fields); });
}
FrameBytes hello(const Nonce& nonce) {
  Hello fields;
  fields.nonce = nonce;
  return made_by([&](auto room) { return encode_hello(room, fields); });
}
FrameBytes flow(const Flow& fields) {
  return made_by([&](auto room) { return encode_flow(room, 0, fields, 0); });
}
FrameBytes flow_ok(const FlowOk& fields) {
  return made_by([&](auto room) { return encode_flow_ok(room, 0, 0, fields); });
}
FrameBytes stats(const Stats& fields) {
  return made_by([&](auto room) { return encode_stats(room, 0, 0, fields); });
}
FrameBytes directory(const DirectoryMessage& message) {
  FrameBytes bytes;
  append_directory(bytes, message);
  return bytes;
}
FrameBytes head(const HandoverHead& fields) {
  const auto bytes = encode_handover_head(fields);
  return {bytes.begin(), bytes.end()};
}
FrameBytes capability(const Capability& fields) {
  const std::string text = text_of(fields);
  FrameBytes bytes((text.size() - text.find(':') - 1) / 2);
  BOOST_REQUIRE(parse_hex(std::string_view(text).substr(text.find(':') + 1), bytes));
  return bytes;
}

}  // namespace format_test

BOOST_AUTO_TEST_SUITE(format_test)

using namespace exs::svc::format_test;

BOOST_AUTO_TEST_CASE(the_header_is_laid_out_as_documented) {
  check_rows("Header", {"type", "flags", "count", "flow", "number", "ack"}, kHeaderBytes);
  const Header none{.type = FrameType::kHello};
  const FrameBytes before = header(none);
  const auto check = [&](const char* field, const Header& changed) {
    check_place("Header", field, before, header(changed));
  };
  check("type", {.type = FrameType::kStats});
  check("flags", {.type = none.type, .flags = UINT8_MAX});
  check("count", {.type = none.type, .count = UINT16_MAX});
  check("flow", {.type = none.type, .flow = UINT32_MAX});
  check("number", {.type = none.type, .number = UINT64_MAX});
  check("ack", {.type = none.type, .ack = UINT64_MAX});
}

BOOST_AUTO_TEST_CASE(frames_have_the_documented_types_and_lengths) {
  check_line("Header", type_row(1, "HELLO") + std::to_string(hello({}).size()) + " |");
  const Sender sender;
  const CapabilityProof proof;
  const std::size_t flow_bytes = flow({}).size();
  check_line("Header", type_row(2, "FLOW") + std::to_string(flow_bytes) + ", with a sender " +
                           std::to_string(flow({.sender = sender}).size() - flow_bytes) +
                           " more, with a capability " +
                           std::to_string(flow({.capability = proof}).size() - flow_bytes) + " more |");
  check_line("Header", type_row(3, "FLOW_OK") + std::to_string(flow_ok({}).size()) + " |");
  check_line("Header",
             type_row(4, "FLOW_NO") + "28, with a record up to " + std::to_string(kRecordMax) + " more |");
  check_line("Header", type_row(5, "DATA"));
  check_line("Header", type_row(7, "NACK") + "28 |");
  check_line("Header", type_row(14, "STATS") + std::to_string(kStatsBytes) + " |");
  BOOST_TEST(stats({}).size() == kStatsBytes);
  const std::size_t bare = kHeaderBytes;
  for (const auto& [type, name] :
       {std::pair{FrameType::kAck, "ACK"}, std::pair{FrameType::kPing, "PING"},
        std::pair{FrameType::kPong, "PONG"}, std::pair{FrameType::kFlowEnd, "FLOW_END"},
        std::pair{FrameType::kCancel, "CANCEL"}, std::pair{FrameType::kWantBulk, "WANT_BULK"},
        std::pair{FrameType::kInfo, "INFO"}})
    check_line("Header", type_row(static_cast<unsigned>(type), name) + std::to_string(bare) + " |");
}

BOOST_AUTO_TEST_CASE(the_hello_is_laid_out_as_documented) {
  check_rows("HELLO", {"header", "magic", "nonce"}, hello({}).size());
  check_place("HELLO", "nonce", hello({}), hello(filled<32>(UINT8_MAX)));
}

BOOST_AUTO_TEST_CASE(a_flow_is_laid_out_as_documented) {
  check_rows("FLOW", {"header", "target", "client", "flow_number", "instance"}, flow({}).size());
  check_place("FLOW", "target", flow({}), flow({.target = filled<16>(UINT8_MAX)}));
  check_place("FLOW", "client", flow({}), flow({.client = UINT64_MAX}));
  check_place("FLOW", "flow_number", flow({}), flow({.flow_number = UINT64_MAX}));
  check_place("FLOW", "instance", flow({}), flow({.instance = UINT64_MAX}));
  // Expect: a sender, and a capability behind it or in its place.
  const Sender nobody;
  const CapabilityProof none;
  check_place("FLOW", "key", flow({.sender = nobody}), flow({.sender = Sender{filled<32>(UINT8_MAX), {}}}));
  check_place("FLOW", "signature", flow({.sender = nobody}),
              flow({.sender = Sender{{}, filled<64>(UINT8_MAX)}}));
  constexpr std::size_t kSenderBytes = 96;
  for (const bool has_sender : {false, true}) {
    const std::optional<Sender> sender = has_sender ? std::optional(nobody) : std::nullopt;
    const FrameBytes before = flow({.sender = sender, .capability = none});
    const auto check = [&](const char* field, const CapabilityProof& shown) {
      check_place("FLOW", field, before, flow({.sender = sender, .capability = shown}),
                  has_sender ? kSenderBytes : 0);
    };
    check("rights", {.rights = UINT32_MAX});
    check("serial", {.serial = UINT32_MAX});
    check("expires_ms", {.expires_ms = -1});
    check("proof", {.proof = filled<32>(UINT8_MAX)});
  }
}

BOOST_AUTO_TEST_CASE(answers_to_a_flow_are_laid_out_as_documented) {
  check_rows("FLOW_OK", {"header", "key", "instance", "signature"}, flow_ok({}).size());
  check_place("FLOW_OK", "key", flow_ok({}), flow_ok({.key = filled<32>(UINT8_MAX)}));
  check_place("FLOW_OK", "instance", flow_ok({}), flow_ok({.instance = UINT64_MAX}));
  check_place("FLOW_OK", "signature", flow_ok({}), flow_ok({.signature = filled<64>(UINT8_MAX)}));
  check_rows("FLOW_NO and NACK", {"header", "reason"}, kHeaderBytes + 4);
  check_line("FLOW_NO and NACK",
             std::to_string(static_cast<unsigned>(Refusal::kNobody)) + " the service is not here, " +
                 std::to_string(static_cast<unsigned>(Refusal::kNotAllowed)) + " not allowed, " +
                 std::to_string(static_cast<unsigned>(Refusal::kTooMany)) + " too many flows");
}

BOOST_AUTO_TEST_CASE(statistics_are_laid_out_as_documented) {
  check_rows(
      "STATS",
      {"header", "open_ns", "messages", "replies", "mailbox", "requests_open", "flows", "windows_free"},
      kStatsBytes);
  check_place("STATS", "open_ns", stats({}), stats({.open_ns = UINT64_MAX}));
  check_place("STATS", "messages", stats({}), stats({.messages = UINT64_MAX}));
  check_place("STATS", "replies", stats({}), stats({.replies = UINT64_MAX}));
  check_place("STATS", "mailbox", stats({}), stats({.mailbox = UINT64_MAX}));
  check_place("STATS", "requests_open", stats({}), stats({.requests_open = UINT64_MAX}));
  check_place("STATS", "flows", stats({}), stats({.flows = UINT64_MAX}));
  check_place("STATS", "windows_free", stats({}), stats({.windows_free = UINT64_MAX}));
}

// The rest of a DATA is a list, which data_frames_test.cc has byte by byte.
BOOST_AUTO_TEST_CASE(data_have_the_documented_flags_and_limits) {
  check_line("DATA", "Flags: " + std::to_string(kIsRequest) + " a request, " + std::to_string(kIsReply) +
                         " a reply, " + std::to_string(kMoreFollow) +
                         " a reply of which more parts follow, " + std::to_string(kUnanswered) +
                         " a reply that the service has not given, " + std::to_string(kHasLongItems) +
                         " there are long items, " + std::to_string(kIsVoid) + " nothing. Flag " +
                         std::to_string(kHasReturns) + ":");
  check_line("DATA", "short items, 0 to " + std::to_string(kItemsMax));
  static_assert(kShortMax == 4'000 && kFrameMax == 4'352 && kLongMax == std::uint64_t{1} << 40);
  check_line("DATA", "Together they have at most 4,000 bytes");
  check_line("DATA", "at most 2^40");
  check_line("Links", "at most 4,352 bytes");
}

BOOST_AUTO_TEST_CASE(a_record_is_laid_out_as_documented) {
  check_rows("Records", {"version", "epoch", "instance", "key", "count"}, 0);
  const std::array<std::uint8_t, Key::kSeedBytes> seed{};
  const Key key{std::span<const std::uint8_t, Key::kSeedBytes>(seed)};
  const std::vector<sockaddr_storage> at{*exs::parse_address("127.0.0.1:9")};
  const FrameBytes before = encode_record({{}, 0, 0, at}, key);
  // The signature at the end changes with all of it.
  const auto unsigned_part = [](FrameBytes bytes) {
    bytes.resize(bytes.size() - 64);
    return bytes;
  };
  const auto check = [&](const char* field, const Record& record) {
    check_place("Records", field, unsigned_part(before), unsigned_part(encode_record(record, key)));
  };
  check("epoch", {{}, UINT64_MAX, 0, at});
  check("instance", {{}, 0, UINT64_MAX, at});
  check("key", {filled<32>(UINT8_MAX), 0, 0, at});
  check_line("Records", "It has at most " + std::to_string(kRecordMax) + " bytes");
  check_line("Records", "addresses, 1 to " + std::to_string(kAddressesMax));
}

BOOST_AUTO_TEST_CASE(a_question_on_the_host_is_as_long_as_documented) {
  check_rows("The name of a service on its host", {"magic", "id"}, kQuestionBytes);
}

BOOST_AUTO_TEST_CASE(datagrams_are_laid_out_as_documented) {
  const auto query = [](const PublicName& name, const DatagramNonce& nonce) {
    return encode_query(name, nonce);
  };
  check_place("Datagrams", "name", query({}, {}), query(filled<16>(UINT8_MAX), {}));
  check_place("Datagrams", "nonce", query({}, {}), query({}, filled<16>(UINT8_MAX)));
  check_rows("Datagrams", {"magic", "type", "version"}, 0);
  check_line("Datagrams", type_row(1, "QUERY") + std::to_string(query({}, {}).size()) + ", zeros from " +
                              std::to_string(kSealedAt) + " on |");
  check_type("Datagrams", DatagramType::kAnswer, "ANSWER");
  check_type("Datagrams", DatagramType::kAnnouncement, "ANNOUNCEMENT");
  static_assert(kSealedAt + 24 == 64 && kSealBytes == 24 + 16);
  check_line("Datagrams", "| 40 | 24 | seal nonce |");
}

BOOST_AUTO_TEST_CASE(messages_to_a_directory_are_laid_out_as_documented) {
  const std::string section = "Messages to a directory";
  check_rows(section, {"length", "type", "flags"}, 0);
  const FrameBytes find = directory({.type = DirectoryType::kFind});
  BOOST_TEST(find[0] * 256U + find[1] == find.size());
  BOOST_TEST(find[section_of(section).rows.at("type").offset] ==
             static_cast<std::uint8_t>(DirectoryType::kFind));
  const FrameBytes claim = directory({.type = DirectoryType::kClaim, .is_fenced = true, .number = 1});
  BOOST_TEST(claim[section_of(section).rows.at("flags").offset] == 1U);
  check_line(section, "of the whole message, at most " + std::to_string(kDirectoryMessageMax) + " |");
  const std::pair<DirectoryType, const char*> types[] = {
      {DirectoryType::kGreeting, "GREETING"},   {DirectoryType::kClaim, "CLAIM"},
      {DirectoryType::kRenew, "RENEW"},         {DirectoryType::kRelease, "RELEASE"},
      {DirectoryType::kFind, "FIND"},           {DirectoryType::kWatch, "WATCH"},
      {DirectoryType::kUnwatch, "UNWATCH"},     {DirectoryType::kRecord, "RECORD"},
      {DirectoryType::kNobody, "NOBODY"},       {DirectoryType::kHeld, "HELD"},
      {DirectoryType::kOvertaken, "OVERTAKEN"}, {DirectoryType::kOutdated, "OUTDATED"},
      {DirectoryType::kNoRoom, "NO_ROOM"},      {DirectoryType::kRenewed, "RENEWED"},
      {DirectoryType::kWait, "WAIT"},           {DirectoryType::kWanted, "WANTED"}};
  for (const auto& [type, name] : types) check_type(section, type, name);
  static_assert(kLeaseMaxMs == 60'000 && Lease::kLeaseMs == 600 && kDirectoryPort == 17752);
  check_line(section, "lease_ms (4), 1 to 60,000");
  check_line(section, "leases of 600");
  check_line(section, "port 17752");
}

BOOST_AUTO_TEST_CASE(the_head_of_a_handover_is_laid_out_as_documented) {
  const std::string section = "How a service moves";
  check_rows(section, {"magic", "step", "token", "instance", "epoch"}, kHandoverHeadBytes);
  check_place(section, "step", head({.step = HandoverStep::kPrepare}), head({.step = HandoverStep::kCommit}));
  check_place(section, "token", head({}), head({.token = UINT64_MAX}));
  check_place(section, "instance", head({}), head({.instance = UINT64_MAX}));
  check_place(section, "epoch", head({}), head({.epoch = UINT64_MAX}));
  check_line(section, std::to_string(static_cast<int>(HandoverStatus::kDone)) + " done; " +
                          std::to_string(static_cast<int>(HandoverStatus::kNotUnderstood)) +
                          " not understood; " + std::to_string(static_cast<int>(HandoverStatus::kNoMemory)) +
                          " no memory");
}

BOOST_AUTO_TEST_CASE(a_capability_is_laid_out_as_documented) {
  const std::string section = "Keys, IDs and capabilities";
  check_rows(section, {"id", "rights", "serial", "expires_ms", "secret"}, 0);
  check_place(section, "id", capability({}), capability({.id = filled<16>(UINT8_MAX)}));
  check_place(section, "rights", capability({}), capability({.rights = UINT32_MAX}));
  check_place(section, "serial", capability({}), capability({.serial = UINT32_MAX}));
  check_place(section, "expires_ms", capability({}), capability({.expires_ms = -1}));
  check_place(section, "secret", capability({}), capability({.secret = filled<32>(UINT8_MAX)}));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace exs::svc
