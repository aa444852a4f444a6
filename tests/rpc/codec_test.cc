// Values of every form go into messages and come back, wherever they are put; other bytes lead nowhere.
// SPDX-License-Identifier: BSD-2-Clause
#include <boost/test/unit_test.hpp>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "everything_exs.h"
#include "rpc/fast/codec.h"
#include "tests/support/exs_fixture.h"
#include "tests/support/property.h"

namespace exs::test {
namespace codec_test {

using rpc::Placement;

constexpr std::size_t kHead = 16;
constexpr std::size_t kLongest = 1 << 20;

// The message of a value, as long as it may be.
struct Encoded {
  int error = 0;
  std::vector<std::byte> body;
};

class Codec {
 public:
  Codec() { BOOST_REQUIRE(slots_.allocate(1).ok()); }

  Encoded encode(const exs_rpc_type_t& type, const void* value) {
    rpc::OutgoingMessage message(slots_, 0, buffer_);
    std::size_t bytes = 0;
    Encoded made;
    made.error = rpc::encode(type, value, message, kHead, kLongest, bytes).error();
    if (made.error == 0) made.body.assign(message.message() + kHead, message.message() + bytes);
    return made;
  }

 private:
  InitializedLibrary library_;
  rpc::SlotMemory slots_;
  rpc::MessageBuffer buffer_;
};

// Bytes as a receiver has them: the first one aligned, and nothing behind the last.
class Received {
 public:
  explicit Received(const std::vector<std::byte>& bytes)
      : memory_(static_cast<std::byte*>(
            std::aligned_alloc(rpc::kBodyAlignment, rpc::rounded_up(bytes.size() + 1, 8)))),
        start_(memory_.get()),
        bytes_(bytes.size()) {
    if (bytes_ > 0) std::memcpy(start_, bytes.data(), bytes_);
  }
  [[nodiscard]] std::span<const std::byte> body() const { return {start_, bytes_}; }

 private:
  struct Free {
    void operator()(std::byte* memory) const { std::free(memory); }
  };
  std::unique_ptr<std::byte[], Free> memory_;
  std::byte* start_;
  std::size_t bytes_;
};

// A value in zeroed memory of malloc(), as rpc::decode() makes it.
class Value {
 public:
  explicit Value(const exs_rpc_type_t& type)
      : type_(type), memory_(static_cast<std::byte*>(std::calloc(1, type.memory_bytes))) {}
  ~Value() {
    if (is_owner) rpc::free_value(type_, memory_);
    std::free(memory_);
  }
  Value(const Value&) = delete;
  Value& operator=(const Value&) = delete;
  [[nodiscard]] std::byte* at() const { return memory_; }
  bool is_owner = true;

 private:
  const exs_rpc_type_t& type_;
  std::byte* memory_;
};

void draw_value(const exs_rpc_type_t& type, std::byte* value, unsigned depth);

std::byte* draw_elements(const exs_rpc_type_t& element, std::size_t count, unsigned depth) {
  auto* const made = static_cast<std::byte*>(std::calloc(count, element.memory_bytes));
  for (std::size_t i = 0; i < count; ++i) draw_value(element, made + i * element.memory_bytes, depth + 1);
  return made;
}

char* draw_string(std::size_t most) {
  const std::size_t length = draw_index(std::min<std::size_t>(most, 20) + 1);
  auto* const text = static_cast<char*>(std::calloc(1, length + 1));
  for (std::size_t i = 0; i < length; ++i) text[i] = static_cast<char>(draw_between(1, 127));
  return text;
}

void draw_value(const exs_rpc_type_t& type, std::byte* value, unsigned depth) {
  constexpr unsigned kDepth = 6;
  const auto put = [&](const auto& made) { std::memcpy(value, &made, sizeof made); };
  switch (type.kind) {
    case EXS_RPC_FLAT:
      for (std::size_t i = 0; i < type.bytes; ++i) value[i] = static_cast<std::byte>(draw_bits(8));
      break;
    case EXS_RPC_BOOL: put(draw_bool() ? 1 : 0); break;
    case EXS_RPC_STRING: put(draw_string(type.most)); break;
    case EXS_RPC_ARRAY:
      for (std::size_t i = 0; i < type.most; ++i)
        draw_value(*type.element, value + i * type.element->memory_bytes, depth + 1);
      break;
    case EXS_RPC_VECTOR: {
      const auto count = static_cast<unsigned>(draw_index(depth < kDepth ? std::min(type.most, 6U) + 1 : 1));
      put(rpc::MemoryVector{count, count == 0 ? nullptr : draw_elements(*type.element, count, depth)});
      break;
    }
    case EXS_RPC_OPTIONAL:
      put(depth < kDepth && draw_bool() ? draw_elements(*type.element, 1, depth) : nullptr);
      break;
    case EXS_RPC_STRUCT:
      for (std::uint32_t i = 0; i < type.parts_count; ++i)
        draw_value(*type.parts[i].type, value + type.parts[i].memory_offset, depth + 1);
      break;
    case EXS_RPC_UNION: {
      const exs_rpc_part_t& arm = type.parts[draw_index(type.parts_count)];
      const bool is_default = type.has_default != 0 && &arm == &type.parts[type.parts_count - 1];
      put(is_default ? std::int32_t{12345} : arm.value);
      if (arm.type != nullptr) draw_value(*arm.type, value + arm.memory_offset, depth + 1);
      break;
    }
    default: BOOST_FAIL("a kind of type that there is not");
  }
}

const exs_rpc_type_t& draw_type() {
  std::vector<const exs_rpc_type_t*> types;
  for (std::uint32_t i = 0; i < everything_one_interface.procedures_count; ++i) {
    const exs_rpc_procedure_t& procedure = everything_one_interface.procedures[i];
    for (const exs_rpc_type_t* const type : {procedure.argument, procedure.result})
      if (type != nullptr) types.push_back(type);
  }
  return *types[draw_index(types.size())];
}

// Whether a value that decoded well has the bytes that it came from, as many as they are.
bool fits(Codec& codec, const exs_rpc_type_t& type, const Value& value, std::size_t bytes) {
  const Encoded again = codec.encode(type, value.at());
  return again.error == 0 && again.body.size() == bytes;
}

}  // namespace codec_test

BOOST_FIXTURE_TEST_SUITE(codec_test, PropertyDefaults)

BOOST_AUTO_TEST_CASE(values_come_back_wherever_they_are_put) {
  Codec codec;
  BOOST_TEST(holds("round trip", [&] {
    const exs_rpc_type_t& type = draw_type();
    const Value value(type);
    draw_value(type, value.at(), 0);
    const Encoded first = codec.encode(type, value.at());
    EXS_HOLD(first.error == 0);
    const Received received(first.body);
    Value copy(type);
    EXS_HOLD(rpc::decode(type, received.body(), copy.at(), Placement::kCopy, nullptr).ok());
    EXS_HOLD(codec.encode(type, copy.at()).body == first.body);
    rpc::RequestArena arena;
    Value view(type);
    view.is_owner = false;
    EXS_HOLD(rpc::decode(type, received.body(), view.at(), Placement::kView, &arena).ok());
    EXS_HOLD(codec.encode(type, view.at()).body == first.body);
    EXS_HOLD(rpc::decode(type, received.body(), copy.at(), Placement::kInPlace, nullptr).ok());
    EXS_HOLD(codec.encode(type, copy.at()).body == first.body);
  }));
}

BOOST_AUTO_TEST_CASE(bytes_of_anybody_are_refused_or_a_value) {
  Codec codec;
  BOOST_TEST(holds("hostile bytes", [&] {
    const exs_rpc_type_t& type = draw_type();
    const Value value(type);
    draw_value(type, value.at(), 0);
    std::vector<std::byte> bytes = codec.encode(type, value.at()).body;
    for (std::size_t changes = draw_index(4); changes-- > 0 && !bytes.empty();)
      bytes[draw_index(std::min<std::size_t>(bytes.size(), 64))] = static_cast<std::byte>(draw_bits(8));
    if (draw_index(4) == 0) bytes.resize(draw_index(bytes.size() + 9));
    const Received received(bytes);
    Value copy(type);
    const int error = rpc::decode(type, received.body(), copy.at(), Placement::kCopy, nullptr).error();
    EXS_HOLD(error == 0 || error == EPROTO);
    if (error == 0) EXS_HOLD(fits(codec, type, copy, bytes.size()));
    rpc::RequestArena arena;
    Value view(type);
    view.is_owner = false;
    EXS_HOLD(rpc::decode(type, received.body(), view.at(), Placement::kView, &arena).error() == error);
    const int in_place = rpc::decode(type, received.body(), value.at(), Placement::kInPlace, nullptr).error();
    EXS_HOLD(in_place == 0 || in_place == EPROTO || in_place == EMSGSIZE);
  }));
}

BOOST_AUTO_TEST_CASE(a_message_is_no_longer_than_it_may_be) {
  Codec codec;
  std::vector<char> data(kLongest);
  blob value{static_cast<unsigned>(kLongest - kHead - 8), data.data()};
  const exs_rpc_type_t& type = *everything_one_interface.procedures[8].argument;
  BOOST_TEST(codec.encode(type, &value).error == 0);
  ++value.blob_len;
  BOOST_TEST(codec.encode(type, &value).error == EMSGSIZE);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace exs::test
