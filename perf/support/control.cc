// SPDX-License-Identifier: BSD-2-Clause
#include "perf/support/control.h"

#include <endian.h>

#include <cstring>

#include "tools/common/failure.h"

namespace perf {
namespace {

constexpr std::uint32_t kMagic = 0x65787354;  // "exsT"
constexpr std::size_t kHeadBytes = 6;         // magic and version

class Writer {
 public:
  explicit Writer(std::span<std::byte> out) : out_(out) {}
  void u8(std::uint8_t value) { raw(&value, sizeof value); }
  void u16(std::uint16_t value) { value = htobe16(value), raw(&value, sizeof value); }
  void u32(std::uint32_t value) { value = htobe32(value), raw(&value, sizeof value); }
  void u64(std::uint64_t value) { value = htobe64(value), raw(&value, sizeof value); }

 private:
  void raw(const void* from, std::size_t length) {
    std::memcpy(&out_[at_], from, length);
    at_ += length;
  }
  std::span<std::byte> out_;
  std::size_t at_ = 0;
};

// The caller has checked the length of the message.
class Reader {
 public:
  explicit Reader(std::span<const std::byte> in) : in_(in) {}
  std::uint8_t u8() { return raw<std::uint8_t>(); }
  std::uint16_t u16() { return be16toh(raw<std::uint16_t>()); }
  std::uint32_t u32() { return be32toh(raw<std::uint32_t>()); }
  std::uint64_t u64() { return be64toh(raw<std::uint64_t>()); }

 private:
  template <typename T>
  T raw() {
    T value{};
    std::memcpy(&value, &in_[at_], sizeof value);
    at_ += sizeof value;
    return value;
  }
  std::span<const std::byte> in_;
  std::size_t at_ = 0;
};

constexpr std::uint8_t kReverse = 1;
constexpr std::uint8_t kMore = 2;
constexpr std::uint8_t kNodelay = 4;
constexpr std::uint8_t kFlagsAll = kReverse | kMore | kNodelay;

std::uint8_t flags_of(const Job& job) {
  return static_cast<std::uint8_t>((job.reverse ? kReverse : 0) | (job.more ? kMore : 0) |
                                   (job.nodelay ? kNodelay : 0));
}

bool in_range(const Job& job) {
  return is_kind(static_cast<std::uint8_t>(job.kind)) && job.wait <= Wait::busy &&
         job.memory <= MemoryKind::alloc && job.depth >= 1 && job.depth <= traits_of(job.kind).depth_max &&
         job.size_bytes >= traits_of(job.kind).size_min_bytes &&
         job.size_bytes <= traits_of(job.kind).size_max_bytes;
}

}  // namespace

std::string sentence_of(Verdict verdict) {
  switch (verdict) {
    case Verdict::accepted: return "accepted";
    case Verdict::malformed: return "malformed request";
    case Verdict::other_version: return "the other end speaks another version of the control messages";
    case Verdict::other_benchmark:
      return "the server is that of the other tool: exs-blast and exs-ping do not mix";
    case Verdict::too_large: return "the buffers would take more than 1 GiB";
    case Verdict::no_memory: return "the server has no memory for the buffers";
    case Verdict::connect: return "it asks for further connections";
    case Verdict::other_kind: return "it does not know this kind";
  }
  return "unknown verdict " + std::to_string(static_cast<unsigned>(verdict));
}

std::array<std::byte, kRequestBytes> encode_request(const Request& request) {
  const Job& job = request.job;
  std::array<std::byte, kRequestBytes> out{};
  Writer writer(out);
  writer.u32(kMagic);
  writer.u16(kControlVersion);
  for (const auto value : {static_cast<std::uint8_t>(job.benchmark), static_cast<std::uint8_t>(job.kind),
                           static_cast<std::uint8_t>(job.wait), static_cast<std::uint8_t>(job.memory),
                           static_cast<std::uint8_t>(job.verify), flags_of(job)}) {
    writer.u8(value);
  }
  writer.u32(job.depth);
  writer.u32(job.warmup_messages);
  writer.u32(0);
  writer.u64(job.size_bytes);
  writer.u64(request.limit.count);
  writer.u64(request.limit.time_ns);
  return out;
}

Verdict decode_request(std::span<const std::byte> message, BenchmarkId expected, Request& request) {
  if (message.size() < kHeadBytes) return Verdict::malformed;
  Reader reader(message);
  if (reader.u32() != kMagic) return Verdict::malformed;
  if (reader.u16() != kControlVersion) return Verdict::other_version;
  if (message.size() != kRequestBytes) return Verdict::malformed;
  Request asked;
  Job& job = asked.job;
  const std::uint8_t benchmark = reader.u8();
  job.benchmark = expected;
  job.kind = static_cast<Kind>(reader.u8());
  job.wait = static_cast<Wait>(reader.u8());
  job.memory = static_cast<MemoryKind>(reader.u8());
  const std::uint8_t verify = reader.u8();
  job.verify = verify == 1;
  const std::uint8_t flags = reader.u8();
  job.reverse = (flags & kReverse) != 0;
  job.more = (flags & kMore) != 0;
  job.nodelay = (flags & kNodelay) != 0;
  job.depth = reader.u32();
  job.warmup_messages = reader.u32();
  const std::uint32_t zeros = reader.u32();
  job.size_bytes = reader.u64();
  asked.limit.count = reader.u64();
  asked.limit.time_ns = reader.u64();
  if (verify > 1 || flags > kFlagsAll || zeros != 0 || !in_range(job)) return Verdict::malformed;
  if (job.reverse && (!traits_of(job.kind).may_be_reversed || asked.limit.time_ns > kTimeMaxNs))
    return Verdict::malformed;
  if (benchmark != static_cast<std::uint8_t>(expected)) return Verdict::other_benchmark;
  if (buffers_bytes(job) > kBuffersMaxBytes) return Verdict::too_large;
  request = asked;
  return Verdict::accepted;
}

std::array<std::byte, kAnswerBytes> encode_answer(const Answer& answer) {
  std::array<std::byte, kAnswerBytes> out{};
  Writer writer(out);
  writer.u32(kMagic);
  writer.u16(kControlVersion);
  writer.u16(static_cast<std::uint16_t>(answer.verdict));
  writer.u16(answer.port);
  return out;
}

Answer decode_answer(std::span<const std::byte> message) {
  Reader reader(message);
  if (message.size() < kHeadBytes || reader.u32() != kMagic)
    throw tools::Failure("the peer is no server of this tool");
  if (reader.u16() != kControlVersion) return {Verdict::other_version};
  if (message.size() != kAnswerBytes) throw tools::Failure("the server's answer is malformed");
  Answer answer;
  answer.verdict = static_cast<Verdict>(reader.u16());
  answer.port = reader.u16();
  return answer;
}

std::array<std::byte, kTurnBytes> encode_turn(const Turn& turn) {
  std::array<std::byte, kTurnBytes> out{};
  Writer writer(out);
  writer.u32(kMagic);
  writer.u16(kControlVersion);
  writer.u16(0);
  writer.u32(turn.buffer);
  writer.u32(0);
  writer.u64(turn.sequence);
  return out;
}

Turn decode_turn(std::span<const std::byte> message) {
  Reader reader(message);
  if (message.size() != kTurnBytes || reader.u32() != kMagic || reader.u16() != kControlVersion ||
      reader.u16() != 0) {
    throw tools::Failure("a turn message of the server is malformed");
  }
  Turn turn;
  turn.buffer = reader.u32();
  if (reader.u32() != 0) throw tools::Failure("a turn message of the server is malformed");
  turn.sequence = reader.u64();
  return turn;
}

std::array<std::byte, kResultsBytes> encode_results(const PeerResults& results) {
  std::array<std::byte, kResultsBytes> out{};
  Writer writer(out);
  writer.u32(kMagic);
  writer.u16(kControlVersion);
  writer.u16(0);
  for (const std::uint64_t value :
       {results.messages, results.bytes, results.cpu_ns, results.wall_ns, results.wrong_messages,
        results.first_wrong_message, results.first_wrong_offset}) {
    writer.u64(value);
  }
  return out;
}

PeerResults decode_results(std::span<const std::byte> message) {
  Reader reader(message);
  if (message.size() != kResultsBytes || reader.u32() != kMagic || reader.u16() != kControlVersion ||
      reader.u16() != 0) {
    throw tools::Failure("the server's results are malformed");
  }
  PeerResults results;
  for (std::uint64_t* field :
       {&results.messages, &results.bytes, &results.cpu_ns, &results.wall_ns, &results.wrong_messages,
        &results.first_wrong_message, &results.first_wrong_offset}) {
    *field = reader.u64();
  }
  return results;
}

}  // namespace perf
