// SPDX-License-Identifier: BSD-2-Clause
#include "event/session/failure_text.h"

#include <array>
#include <cstring>

#include "src/log/log.h"

namespace exs {
namespace {

struct Words {
  int error;
  const char* fact;  // "": the status has the text, or strerror()
  const char* cure;
};

// Errors before the peer has answered.
constexpr Words kUnreached[] = {
    {ECONNREFUSED, "nobody listens there", "start the server, and see that address and port are its own"},
    {ECONNRESET, "TCP was connected, and the server closed it without an answer",
     "see that the port is that of an exs server, and that its process goes on"},
    {EHOSTUNREACH, "the host does not answer",
     "see that it is up, and that no firewall turns the packets down"},
    {ENETUNREACH, "no route leads there",
     "ip route get ADDRESS tells; an address of this host needs its loopback interface (ip link set lo up), "
     "one of IPv6 that is "
     "link-local its scope"},
    {EACCES, "a rule of this host forbids it",
     "see the firewall (nft list ruleset), or the policy of the container"},
    {EADDRNOTAVAIL, "no port is left to connect from",
     "wait for closed connections, or widen net.ipv4.ip_local_port_range"},
};

// Errors after the peer's host has answered.
constexpr Words kUnanswered[] = {
    {ECONNRESET, "TCP was connected, and the server closed it without an answer",
     "see that the port is that of an exs server, and that its process goes on"},
    {EPROTO, "", "see that address and port are those of an exs server"},
};

constexpr Words kRejected[] = {
    {ECONNREFUSED, "the server turned the connection down", "see its log"},
    {EPROTONOSUPPORT, "the server speaks no version of the protocol that this release has",
     "install one release at both ends"},
};

constexpr Words kEnded[] = {
    {ECONNRESET, "TCP was reset, or closed without a goodbye",
     "see whether the peer's process was killed, or crashed"},
    {ETIMEDOUT, "the peer's host did not answer any more", "see that the peer runs and the network carries"},
    {EPROTO, "a rule of the protocol was broken",
     "give both ends one release of exs; nothing but exs may write to the descriptor of the socket"},
    {EFAULT, "memory of an operation could not be read or written",
     "keep the memory of an operation mapped, and that of a receive writable, until its event"},
};

// Additional errors of a kernel socket.
constexpr Words kPlainEnded[] = {
    {EPIPE, "the sending direction is shut",
     "see who called shutdown(2), and whether the peer closed or reset the connection"},
};

template <std::size_t kCount>
const Words* words_for(const Words (&table)[kCount], int error) {
  for (const Words& words : table) {
    if (words.error == error) return &words;
  }
  return nullptr;
}

std::string kept_words(Status why) {
  std::array<char, 512> room;
  return {room.data(), text_of_fault(why, room)};
}

// `general`: facts about such errors; null: there are none.
std::string fact_and_cure(Status why, const Words* general) {
  std::string text = kept_words(why);
  if (text.empty())
    text = general != nullptr && *general->fact != '\0' ? general->fact : std::strerror(why.error());
  if (general != nullptr) text = text + "; " + general->cure;
  return text;
}

std::string why_no_provider(const Explanation& explanation) {
  std::string text = "no provider that both ends allow reaches it";
  const char* cure = "";
  for (const Finding& finding : explanation.findings()) {
    if (finding.verdict != Verdict::kRefused) continue;
    text += fmt::format("; {}: {}{}{}", finding.provider,
                        *finding.reason.fact == '\0' ? reason_name(finding.reason.code) : "",
                        finding.reason.fact, finding.told_by_peer ? " (says the peer)" : "");
    if (*cure == '\0' || finding.reason.code != ReasonCode::kForbidden)
      cure = reason_cure(finding.reason.code);
  }
  return *cure == '\0' ? text : text + "; " + cure;
}

std::string why_unanswered(const FailedConnect& failed) {
  const char* who =
      "an exs server there has posted no exs_accept since its exs_listen, or is stopped, or the port is that "
      "of "
      "another protocol";
  if (failed.accepted == true)
    who =
        "a program there has accepted it, so it speaks another protocol, or is stopped; see that address and "
        "port are those "
        "of an exs server";
  if (failed.accepted == false)
    who =
        "no program there has accepted it, because its process is stopped, or posted no exs_accept; "
        "an exs server must post exs_accept after exs_listen, one for each connection";
  return fmt::format(
      "TCP is connected and the hello of exs sent, but not one byte came back within {} ms; {}",
      failed.limit_ms, who);
}

std::string why_too_late(const FailedConnect& failed) {
  switch (failed.stage) {
    case ConnectStage::kReaching:
      return fmt::format(
          "its host did not answer within {} ms; see that it is up, and that no firewall drops the packets",
          failed.limit_ms);
    case ConnectStage::kAsked: return why_unanswered(failed);
    case ConnectStage::kReceived:
      return fmt::format(
          "the exs server there has the hello, but posted no exs_accept for it within {} ms; post one for "
          "each "
          "connection, so another after each EXS_EVT_ACCEPT",
          failed.limit_ms);
  }
  return "";
}

std::string why_not_connected(const FailedConnect& failed, const Explanation& explanation) {
  const int error = failed.why.error();
  if (error == EOPNOTSUPP) return why_no_provider(explanation);
  if (error == ETIMEDOUT && failed.why.sentence() == 0) return why_too_late(failed);
  if (error == EPROTOTYPE) {
    return fmt::format(
        "the server listens with a {} socket, and this one is {}; give exs_socket one type at both ends",
        name_of_other(failed.kind), name_of(failed.kind));
  }
  if (failed.rejected) return fact_and_cure(failed.why, words_for(kRejected, error));
  if (failed.stage != ConnectStage::kReaching)
    return fact_and_cure(failed.why, words_for(kUnanswered, error));
  return fact_and_cure(failed.why, words_for(kUnreached, error));
}

}  // namespace

const char* name_of(proto::SocketKind kind) noexcept {
  return kind == proto::SocketKind::kStream ? "SOCK_STREAM" : "SOCK_SEQPACKET";
}

const char* name_of_other(proto::SocketKind kind) noexcept {
  return kind == proto::SocketKind::kStream ? "SOCK_SEQPACKET" : "SOCK_STREAM";
}

std::string text_of(const FailedConnect& failed, const Explanation& explanation) {
  return "connecting to " + failed.peer + ": " + why_not_connected(failed, explanation);
}

std::string text_of_plain_end(int number, Status why) {
  const Words* const own = words_for(kPlainEnded, why.error());
  return fmt::format("the connection of the kernel's socket {} ended: {}", number,
                     fact_and_cure(why, own != nullptr ? own : words_for(kEnded, why.error())));
}

std::string text_of_end(const std::string& peer, Status why) {
  const std::string words = fact_and_cure(why, words_for(kEnded, why.error()));
  const bool named = words.find(peer) != words.npos;
  return "the connection " + (named ? std::string() : "with " + peer + " ") + "ended: " + words;
}

}  // namespace exs
