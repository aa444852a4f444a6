// SPDX-License-Identifier: BSD-2-Clause
#include <boost/test/unit_test.hpp>

#include <cstdio>
#include <fstream>
#include <map>
#include <string>
#include <vector>

#include "src/wire/messages.h"

using namespace exs::wire;

namespace format_test {

struct Row {
  std::size_t offset, length;
};
using Fields = std::map<std::string, Row>;

// FORMAT.md by section: the rows `| offset | length | field |` in order, the sum it states, and the raw
// lines.
struct Section {
  Fields fields;
  std::vector<std::string> order;
  std::size_t stated_bytes = 0;
  std::string text;
};

std::string repository_path(const std::string& path) {
  return std::string(EXS_SOURCE_FOLDER "/") + path;
}

std::map<std::string, Section> read_format() {
  std::ifstream file(repository_path("src/wire/FORMAT.md"));
  BOOST_REQUIRE(file.is_open());
  std::map<std::string, Section> sections;
  Section* section = &sections[""];
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with("## ")) section = &sections[line.substr(3)];
    section->text += line + "\n";
    Row row{};
    char field[32] = {};
    if (std::sscanf(line.c_str(), "| %zu | %zu | %31[a-z_0-9] |", &row.offset, &row.length, field) == 3) {
      section->order.emplace_back(field);
      section->fields[field] = row;
    }
    std::sscanf(line.c_str(), "The fields are %zu bytes", &section->stated_bytes);
  }
  return sections;
}

struct Expected {
  std::string field;
  std::size_t offset;
};

// The table is exactly `expected`, without gap or overlap, from `start` to where `total` says.
void check_table(const std::string& name, const std::vector<Expected>& expected, std::size_t start,
                 std::size_t total) {
  const auto sections = read_format();
  BOOST_REQUIRE_MESSAGE(sections.contains(name), "no section " << name);
  const Section& section = sections.at(name);
  BOOST_TEST(section.order.size() == expected.size());
  std::size_t next = start;
  for (const auto& [field, offset] : expected) {
    BOOST_REQUIRE_MESSAGE(section.fields.contains(field), name << " has no row " << field);
    const Row& row = section.fields.at(field);
    BOOST_TEST(row.offset == offset, name << "." << field);
    BOOST_TEST(row.offset == next, name << "." << field << " leaves a gap");
    next = row.offset + row.length;
  }
  BOOST_TEST(next == total, name);
}

void check(const std::string& name, const std::vector<Expected>& expected, std::size_t total) {
  check_table(name, expected, 0, total);
  BOOST_TEST(read_format()[name].stated_bytes == total);
}

void check_line(const std::string& section, const std::string& line) {
  BOOST_TEST((read_format()[section].text.find(line) != std::string::npos), section << ": " << line);
}

std::string type_row(MessageType type, const std::string& name, std::size_t bytes) {
  return "| " + std::to_string(static_cast<unsigned>(type)) + " | " + name + " | " + std::to_string(bytes);
}

}  // namespace format_test

BOOST_AUTO_TEST_SUITE(format_test)

BOOST_AUTO_TEST_CASE(the_hello_is_laid_out_as_documented) {
  check("Hello",
        {{"magic", kHelloMagicOffset},
         {"version_min", kHelloVersionMinOffset},
         {"version_max", kHelloVersionMaxOffset},
         {"kind", kHelloKindOffset},
         {"reserved1", kHelloReserved1Offset},
         {"send_credits", kHelloSendCreditsOffset},
         {"receive_credits", kHelloReceiveCreditsOffset},
         {"small_bytes", kHelloSmallBytesOffset},
         {"read_depth", kHelloReadDepthOffset},
         {"reserved2", kHelloReserved2Offset}},
        kHelloBytes);
  BOOST_TEST(kHelloBytes <= 48U);
}

BOOST_AUTO_TEST_CASE(the_introduction_is_laid_out_as_documented) {
  check_table("Introduction",
              {{"from", kHelloFromOffset},
               {"to", kHelloToOffset},
               {"job_key", kHelloJobKeyOffset},
               {"eager_log2", kHelloEagerOffset},
               {"adverts_log2", kHelloAdvertsOffset},
               {"by_id", kHelloByIdOffset},
               {"reserved3", kHelloReserved3Offset}},
              kHelloBytes, kTaggedHelloBytes);
}

BOOST_AUTO_TEST_CASE(messages_with_tags_are_laid_out_as_documented) {
  check_table("Messages with tags",
              {{"header", 0},
               {"bits", kLabelBitsOffset},
               {"returned", kLabelReturnedOffset},
               {"id", kLabelIdOffset},
               {"data", kLabelDataOffset}},
              0, kTaggedWithDataBytes);
  BOOST_TEST(kLabelDataOffset == kTaggedBytes);
  check("RETURN", {{"header", 0}, {"returned_bytes", kReturnedOffset}}, kReturnBytes);
  check("HELD", {{"label", 0}, {"length", kHeldLengthOffset}, {"data", kHeldDataOffset}}, kHeldWithDataBytes);
  BOOST_TEST(kHeldLengthOffset == kTaggedBytes);
  check("WANT", {{"header", 0}, {"bits", kWantBitsOffset}, {"ignore", kWantIgnoreOffset}}, kWantBytes);
  check_line("WANT", std::to_string(kWantedMax));
  check("MORE and GRANT", {{"header", 0}, {"granted", kGrantedOffset}}, kGrantBytes);
  check_line("MORE and GRANT", std::to_string(kCreditsMax));
  check_line("Header", type_row(MessageType::kMore, "MORE", kHeaderBytes));
  check_line("Header", type_row(MessageType::kGrant, "GRANT", kGrantBytes));
  check_line("Header", type_row(MessageType::kHeld, "HELD", kHeldBytes) +
                           ", WITH_DATA: " + std::to_string(kHeldWithDataBytes));
  check_line("Header", type_row(MessageType::kWant, "WANT", kWantBytes));
  check_line("Header", type_row(MessageType::kFetch, "FETCH", kHeaderBytes));
  check_line("Header", type_row(MessageType::kFetched, "FETCHED", kHeaderBytes) + " + 20 for each window");
  check_line("Header", type_row(MessageType::kTagged, "TAGGED", kTaggedBytes) +
                           " + payload, WITH_DATA: " + std::to_string(kTaggedWithDataBytes));
  check_line("Header", type_row(MessageType::kTaggedAdvert, "TAGGED_ADVERT", kTaggedBytes));
  check_line("Header", type_row(MessageType::kReturn, "RETURN", kReturnBytes));
  check_line("Messages with tags", "| " + std::to_string(kSynchronous) + " | SYNCHRONOUS |");
  check_line("Messages with tags", "| " + std::to_string(kWithData) + " | WITH_DATA |");
  check_line("Rejection", std::to_string(static_cast<unsigned>(RejectReason::kForeign)) + " of another job");
  check_line("Rejection", std::to_string(static_cast<unsigned>(RejectReason::kCrossed)) + " crossed");
}

BOOST_AUTO_TEST_CASE(the_rejection_is_laid_out_as_documented) {
  check("Rejection", {{"magic", kRejectMagicOffset}, {"reason", kRejectReasonOffset}}, kRejectBytes);
}

BOOST_AUTO_TEST_CASE(the_messages_are_laid_out_as_documented) {
  check("Header",
        {{"type", kTypeOffset},
         {"flags", kFlagsOffset},
         {"credits", kCreditsOffset},
         {"sequence", kSequenceOffset}},
        kHeaderBytes);
  check("ADVERT",
        {{"header", 0},
         {"address", kAdvertAddressOffset},
         {"length", kAdvertLengthOffset},
         {"key", kAdvertKeyOffset}},
        kAdvertBytes);
  check_table("AT_OFFSET tail", {{"target_offset", kAdvertTargetOffset}}, kAdvertBytes, kAtOffsetAdvertBytes);
  check("Window list",
        {{"list_address", kListAddressOffset},
         {"list_length", kListLengthOffset},
         {"list_key", kListKeyOffset}},
        kListEntryBytes);
  check("NOTICE",
        {{"header", 0},
         {"usage_bytes", kUsageBytesOffset},
         {"last_offset", kUsageLastOffset},
         {"transfers", kUsageTransfersOffset}},
        kNoticeBytes);
  check("REVOKE and RELEASE", {{"notice", 0}, {"total_bytes", kReleaseTotalOffset}}, kReleaseBytes);
  BOOST_TEST(kOfferBytes == kAdvertBytes);
  check("ACK", {{"header", 0}, {"status", kAckStatusOffset}, {"bytes_taken", kAckBytesTakenOffset}},
        kAckBytes);
}

BOOST_AUTO_TEST_CASE(the_types_and_flags_have_the_documented_values) {
  check_line("Header", type_row(MessageType::kReady, "READY", kHeaderBytes));
  check_line("Header", type_row(MessageType::kAdvert, "ADVERT", kAdvertBytes) +
                           ", AT_OFFSET: " + std::to_string(kAtOffsetAdvertBytes));
  check_line("Header", "LIST: and " + std::to_string(kListEntryBytes) + " for each");
  check_line("Header", type_row(MessageType::kOffer, "OFFER", kOfferBytes));
  check_line("Header", type_row(MessageType::kNotice, "NOTICE", kNoticeBytes));
  check_line("Header", type_row(MessageType::kRevoke, "REVOKE", kHeaderBytes));
  check_line("Header", type_row(MessageType::kRelease, "RELEASE", kReleaseBytes));
  check_line("Header", type_row(MessageType::kProbe, "PROBE", kHeaderBytes));
  check_line("Header", type_row(MessageType::kProbeAck, "PROBE_ACK", kHeaderBytes));
  check_line("Header", type_row(MessageType::kRecall, "RECALL", kHeaderBytes));
  check_line("Header", type_row(MessageType::kRecallAck, "RECALL_ACK", kHeaderBytes));
  check_line("RECALL and RECALL_ACK", "flag " + std::to_string(kRecalled) + ", RECALLED");
  check_line("ADVERT", "| " + std::to_string(kPersistent) + " | PERSISTENT |");
  check_line("ADVERT", "| " + std::to_string(kNotify) + " | NOTIFY |");
  check_line("ADVERT", "| " + std::to_string(kAtOffset) + " | AT_OFFSET |");
  check_line("ADVERT", "| " + std::to_string(kList) + " | LIST |");
  check_line("OFFER", "Flag " + std::to_string(kNotify) + ", NOTIFY");
  check_line("OFFER", "Flag " + std::to_string(kMappable) + ",");
  check_line("NOTICE", "Flag " + std::to_string(kOfSend) + ", OF_SEND");
  check_line("NOTICE", "flag " + std::to_string(kOfReceive) + ", OF_RECEIVE");
  check_line("Header", type_row(MessageType::kImmediate, "IMMEDIATE", kHeaderBytes) + " + payload");
  check_line("Header", type_row(MessageType::kAck, "ACK", kAckBytes));
  check_line("Header", type_row(MessageType::kCredit, "CREDIT", kHeaderBytes));
  check_line("Header", type_row(MessageType::kShutdown, "SHUTDOWN", kHeaderBytes));
  check_line("Header", type_row(MessageType::kClose, "CLOSE", kHeaderBytes));
  check_line("Header", type_row(MessageType::kCloseAck, "CLOSE_ACK", kHeaderBytes));
  check_line("SHUTDOWN", "| " + std::to_string(kShutdownSending) + " | SENDING |");
  check_line("SHUTDOWN", "| " + std::to_string(kShutdownReceiving) + " | RECEIVING |");
  check_line("ACK", std::to_string(static_cast<unsigned>(AckStatus::kTaken)) + " taken");
  check_line("ACK", std::to_string(static_cast<unsigned>(AckStatus::kRefused)) + " refused");
  check_line("ACK", std::to_string(static_cast<unsigned>(AckStatus::kBusy)) + " busy, " +
                        std::to_string(static_cast<unsigned>(AckStatus::kOutOfRange)) + " out of range, " +
                        std::to_string(static_cast<unsigned>(AckStatus::kNotPersistent)) + " not persistent");
  check_line("Rejection",
             std::to_string(static_cast<unsigned>(RejectReason::kRefused)) + " refused, " +
                 std::to_string(static_cast<unsigned>(RejectReason::kVersion)) + " no common version, " +
                 std::to_string(static_cast<unsigned>(RejectReason::kKind)) + " other socket kind, " +
                 std::to_string(static_cast<unsigned>(RejectReason::kProvider)) +
                 " no provider that both ends allow");
}

BOOST_AUTO_TEST_SUITE_END()
