// The encoder of exs-sunrpc writes what libtirpc's streams write: random values through it, through xdrmem and through xdrrec, with
// words patched in later and words written in place, at the borders of its memory above all.
// SPDX-License-Identifier: BSD-2-Clause
#include <arpa/inet.h>
#include <rpc/rpc.h>

#include <array>
#include <boost/test/unit_test.hpp>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include "rpc/channel/frame.h"
#include "rpc/sunrpc/encoder.h"
#include "tests/support/property.h"

namespace encoder_test {

using namespace exs::test;
using exs::rpc::MessageBuffer;
using exs::rpc::XdrEncoder;
using Bytes = std::vector<char>;

// A value, as a program encodes one.
struct Piece {
  int kind;
  std::uint64_t number;
  std::string bytes;
};
constexpr int kKinds = 11;

std::vector<Piece> draw_pieces() {
  std::vector<Piece> pieces(static_cast<std::size_t>(draw_between(0, 40)));
  for (Piece& piece : pieces) {
    piece.kind = draw(0, kKinds);
    piece.number = draw_bits(64);
    const std::size_t index = draw_index(8);
    // Short ones, and some that lead to the first border (8 KiB) and the next ones.
    const std::size_t count = index < 5   ? draw_index(40)
                              : index < 7 ? 2000 + draw_index(100)
                                          : 8100 + draw_index(200);
    piece.bytes.assign(count, static_cast<char>('a' + piece.number % 26));
  }
  return pieces;
}

// As rpcgen's code does: in place where the stream has room, else one by one.
bool put_words(XDR* stream, std::uint64_t number, u_int count) {
  int32_t* place = XDR_INLINE(stream, count * BYTES_PER_XDR_UNIT);
  for (u_int i = 0; i < count; ++i) {
    int32_t word = static_cast<int32_t>(number + i);
    if (place != nullptr) {
      *place++ = static_cast<int32_t>(htonl(static_cast<std::uint32_t>(word)));
    } else if (!xdr_int32_t(stream, &word)) {
      return false;
    }
  }
  return true;
}

bool put_text(XDR* stream, const std::string& text) {
  char* start = const_cast<char*>(text.c_str());
  return xdr_string(stream, &start, 1U << 20U) != 0;
}
bool put_counted(XDR* stream, const std::string& bytes) {
  char* start = const_cast<char*>(bytes.data());
  auto count = static_cast<u_int>(bytes.size());
  return xdr_bytes(stream, &start, &count, 1U << 20U) != 0;
}
bool put_array(XDR* stream, const std::string& bytes) {
  std::vector<std::int32_t> words(bytes.size(), bytes.empty() ? 0 : bytes[0]);
  char* start = reinterpret_cast<char*>(words.data());
  auto count = static_cast<u_int>(words.size());
  return xdr_array(stream, &start, &count, 1U << 20U, sizeof(std::int32_t),
                   reinterpret_cast<xdrproc_t>(reinterpret_cast<void*>(xdr_int32_t))) != 0;
}

template <typename Value, typename Function>
bool put_number(XDR* stream, std::uint64_t number, Function* function) {
  auto value = static_cast<Value>(number);
  return function(stream, &value) != 0;
}

bool put(XDR* stream, const Piece& piece) {
  switch (piece.kind) {
    case 0: return put_number<int>(stream, piece.number, xdr_int);
    case 1: return put_number<u_int>(stream, piece.number, xdr_u_int);
    case 2: return put_number<std::int64_t>(stream, piece.number, xdr_int64_t);
    case 3: return put_number<short>(stream, piece.number, xdr_short);
    case 4: return put_number<double>(stream, piece.number, xdr_double);
    case 5: return put_number<float>(stream, piece.number, xdr_float);
    case 6:
      return xdr_opaque(stream, const_cast<char*>(piece.bytes.data()),
                        static_cast<u_int>(piece.bytes.size())) != 0;
    case 7: return put_text(stream, piece.bytes);
    case 8: return put_counted(stream, piece.bytes);
    case 9: return put_array(stream, piece.bytes);
    default: return put_words(stream, piece.number, 1 + piece.number % 8);
  }
}

// A word that is written before what it tells is known, as RPCSEC_GSS does.
bool put_with_patch(XDR* stream, const std::vector<Piece>& pieces) {
  std::uint32_t word = 0;
  const u_int start = xdr_getpos(stream);
  if (!xdr_u_int32_t(stream, &word)) return false;
  for (const Piece& piece : pieces)
    if (!put(stream, piece)) return false;
  const u_int end = xdr_getpos(stream);
  word = end - start;
  return xdr_setpos(stream, start) && xdr_u_int32_t(stream, &word) && xdr_setpos(stream, end);
}

std::string by_ours(const std::vector<Piece>& pieces, bool is_patched) {
  MessageBuffer buffer;
  XdrEncoder encoder(buffer);
  if (is_patched) {
    EXS_HOLD(put_with_patch(encoder.stream(), pieces));
  } else {
    for (const Piece& piece : pieces) EXS_HOLD(put(encoder.stream(), piece));
  }
  EXS_HOLD(xdr_getpos(encoder.stream()) == encoder.bytes());
  return encoder.bytes() == 0 ? std::string()
                              : std::string(reinterpret_cast<const char*>(buffer.message()), encoder.bytes());
}

std::string by_memory(const std::vector<Piece>& pieces, bool is_patched) {
  static Bytes bytes(std::size_t{4} << 20U);  // one for all runs: a new one is a thousand pages to be cleared
  XDR stream{};
  xdrmem_create(&stream, bytes.data(), static_cast<u_int>(bytes.size()), XDR_ENCODE);
  if (is_patched) {
    EXS_HOLD(put_with_patch(&stream, pieces));
  } else {
    for (const Piece& piece : pieces) EXS_HOLD(put(&stream, piece));
  }
  return {bytes.data(), xdr_getpos(&stream)};
}

// What the records have, without their marks.
std::string without_marks(const std::string& records) {
  std::string message;
  for (std::size_t at = 0; at + 4 <= records.size();) {
    std::uint32_t mark = 0;
    std::memcpy(&mark, records.data() + at, sizeof mark);
    const std::size_t bytes = ntohl(mark) & 0x7fffffffU;
    message += records.substr(at + 4, bytes);
    at += 4 + bytes;
  }
  return message;
}

int append(char* to, char* bytes, int count) {
  reinterpret_cast<std::string*>(to)->append(bytes, static_cast<std::size_t>(count));
  return count;
}

std::string by_records(const std::vector<Piece>& pieces, u_int buffer_bytes) {
  std::string written;
  XDR stream{};
  const auto write = reinterpret_cast<int (*)(void*, void*, int)>(reinterpret_cast<void*>(append));
  xdrrec_create(&stream, buffer_bytes, buffer_bytes, &written, nullptr, write);
  stream.x_op = XDR_ENCODE;
  bool is_put = true;
  for (const Piece& piece : pieces) is_put = is_put && put(&stream, piece);
  xdrrec_endofrecord(&stream, TRUE);
  xdr_destroy(&stream);
  EXS_HOLD(is_put);
  return without_marks(written);
}

struct Library : PropertyDefaults {
  Library() { BOOST_REQUIRE(exs_init(EXS_VERSION) == 0); }
  ~Library() { exs_fini(); }
};

}  // namespace encoder_test

BOOST_FIXTURE_TEST_SUITE(encoder_test, Library)

BOOST_AUTO_TEST_CASE(values_are_encoded_as_by_libtirpc) {
  BOOST_TEST(holds("the same bytes as xdrmem's and xdrrec's", [] {
    const auto pieces = draw_pieces();
    const std::string ours = by_ours(pieces, false);
    EXS_HOLD(ours == by_memory(pieces, false));
    EXS_HOLD(ours == by_records(pieces, draw<u_int>(100, 9000)));
  }));
}

BOOST_AUTO_TEST_CASE(words_are_patched_as_by_libtirpc) {
  BOOST_TEST(holds("the same bytes as xdrmem's", [] {
    const auto pieces = draw_pieces();
    EXS_HOLD(by_ours(pieces, true) == by_memory(pieces, true));
  }));
}

// The first memory holds 8,184 bytes, the second twice as many with a frame.
BOOST_AUTO_TEST_CASE(words_in_place_at_borders) {
  for (const std::size_t border : {8192U - 8U, 16384U - 8U, 65536U - 8U}) {
    for (std::size_t before = border - 24; before <= border + 8; before += 4) {
      for (u_int words = 1; words <= 8; ++words) {
        const std::vector<Piece> pieces{{6, 0, std::string(before, 'x')}, {10, words - 1, {}}, {0, 7, {}}};
        BOOST_TEST(by_ours(pieces, false) == by_memory(pieces, false));
        BOOST_TEST(by_ours(pieces, true) == by_memory(pieces, true));
      }
    }
  }
}

BOOST_AUTO_TEST_CASE(no_words_in_place_of_bytes) {
  MessageBuffer buffer;
  XdrEncoder encoder(buffer);
  BOOST_REQUIRE(xdr_setpos(encoder.stream(), 2));
  BOOST_TEST(XDR_INLINE(encoder.stream(), 4) == nullptr);
  BOOST_TEST(xdr_getpos(encoder.stream()) == 2U);
}

BOOST_AUTO_TEST_CASE(what_is_longer_than_any_message_is_full) {
  MessageBuffer buffer;
  XdrEncoder encoder(buffer);
  std::uint32_t word = 1;
  BOOST_REQUIRE(xdr_u_int32_t(encoder.stream(), &word));
  BOOST_TEST(!encoder.is_full());
  BOOST_TEST(XDR_INLINE(encoder.stream(), 1U << 30U) == nullptr);
  BOOST_TEST(encoder.is_full());
  BOOST_TEST(encoder.bytes() == 4U);
  BOOST_TEST(!xdr_setpos(encoder.stream(), UINT32_MAX));
}

// It encodes alone.
BOOST_AUTO_TEST_CASE(nothing_is_read_from_it) {
  MessageBuffer buffer;
  XdrEncoder encoder(buffer);
  std::uint32_t word = 0;
  encoder.stream()->x_op = XDR_DECODE;
  BOOST_TEST(!xdr_u_int32_t(encoder.stream(), &word));
  BOOST_TEST(!xdr_opaque(encoder.stream(), reinterpret_cast<char*>(&word), sizeof word));
  BOOST_TEST(!encoder.stream()->x_ops->x_control(encoder.stream(), 0, &word));
}

BOOST_AUTO_TEST_CASE(headers_of_frames_are_read_as_they_are_written) {
  BOOST_TEST(holds("any bytes", [] {
    std::array<std::byte, 12> bytes{};
    for (std::byte& byte : bytes)
      byte = static_cast<std::byte>(draw_index(4) == 0 ? draw_bits(8) : draw_index(6));
    const std::size_t count = draw_index(bytes.size() + 1);
    exs::rpc::LinkFrame frame{};
    if (!exs::rpc::get_frame(std::span(bytes).first(count), frame)) return;
    EXS_HOLD(count >= exs::rpc::kFrameBytes);
    std::array<std::byte, exs::rpc::kFrameBytes> written{};
    exs::rpc::put_frame(frame, written.data());
    EXS_HOLD(std::memcmp(written.data(), bytes.data(), written.size()) == 0);
  }));
}

BOOST_AUTO_TEST_SUITE_END()
