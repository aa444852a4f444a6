// Keys, IDs, capabilities and records: what FORMAT.md says of their bytes, and that nobody has them who has not the key. The bytes
// that are expected were computed without this code, from RFC 8032 and RFC 7693.
// SPDX-License-Identifier: BSD-2-Clause
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <boost/test/unit_test.hpp>

#include <cerrno>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "service/names/capability.h"
#include "service/names/record.h"
#include "service/names/statements.h"
#include "tests/service/outcomes.h"
#include "tests/support/property.h"

namespace exs::svc {
namespace names_test {

// The first test of RFC 8032, 7.1.
constexpr std::string_view kSeedDigits = "9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60";
constexpr std::string_view kPublicDigits = "d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a";
constexpr std::string_view kIdText = "exs:5135f39afbb45e0d2336fffb7741749b";
constexpr std::string_view kCapabilityText =
    "exs-cap:5135f39afbb45e0d2336fffb7741749b00000003010203040102030405060708"
    "fcb9008ccd3d6c473b60e9d4477dad64821e956049024d225bcd4b4451758986";

template <std::size_t kCount>
std::array<std::uint8_t, kCount> bytes_of_digits(std::string_view digits) {
  std::array<std::uint8_t, kCount> bytes{};
  BOOST_REQUIRE(parse_hex(digits, bytes));
  return bytes;
}

Key documented_key() {
  return Key(bytes_of_digits<32>(kSeedDigits));
}
Key numbered_key(std::uint8_t number) {
  std::array<std::uint8_t, Key::kSeedBytes> seed;
  seed.fill(number);
  return Key(seed);
}

// Bytes `first` and up, as a nonce.
Nonce counted_nonce(std::uint8_t first) {
  Nonce nonce;
  for (std::uint8_t& byte : nonce) byte = first++;
  return nonce;
}

// What is asked for by a FLOW.
struct Asked {
  Nonce first = counted_nonce(0x20);
  Nonce second = counted_nonce(0x40);
  std::uint32_t alias = 7;
  IdBytes target = documented_key().id();
  std::uint64_t client = 0x1112131415161718;
  std::uint64_t flow_number = 0x2122232425262728;
};
Statement statement_about(const Asked& asked) {
  return flow_statement({asked.first, asked.second}, asked.alias, asked.target, asked.client,
                        asked.flow_number);
}

void flip_bit(std::span<std::uint8_t> bytes, std::size_t bit) {
  bytes[bit / 8] ^= static_cast<std::uint8_t>(1U << bit % 8);
}

// A folder for a test, which goes with it.
class OwnFolder {
 public:
  OwnFolder() {
    std::string name = (std::filesystem::temp_directory_path() / "exs-names-XXXXXX").string();
    BOOST_REQUIRE(::mkdtemp(name.data()) != nullptr);
    path_ = name;
  }
  OwnFolder(const OwnFolder&) = delete;
  OwnFolder& operator=(const OwnFolder&) = delete;
  ~OwnFolder() { std::filesystem::remove_all(path_); }
  [[nodiscard]] std::string file(const char* name = "key") const { return (path_ / name).string(); }

 private:
  std::filesystem::path path_;
};

std::string text_in(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}
void write_private(const std::string& path, std::string_view text) {
  std::filesystem::remove(path);
  std::ofstream(path, std::ios::binary) << text;
  BOOST_REQUIRE(::chmod(path.c_str(), 0600) == 0);
}
mode_t mode_of(const std::string& path) {
  struct stat about {};
  BOOST_REQUIRE(::stat(path.c_str(), &about) == 0);
  return about.st_mode & 07777;
}

// Expect: the error, and a key that stays what it was.
void expect_no_key(const std::string& path, int error, const std::string& what) {
  std::optional<Key> key;
  BOOST_TEST(exs::svc::test::take(KeyFile::load(path.c_str()), key) == error, what);
  BOOST_TEST(!key.has_value(), what);
  key = numbered_key(1);
  BOOST_TEST(exs::svc::test::take(KeyFile::load(path.c_str()), key) == error, what);
  BOOST_TEST((key && key->public_key() == numbered_key(1).public_key()), what);
}

// ---------------------------------------------------------------- records

sockaddr_storage ip4_address(std::uint32_t host, std::uint16_t port) {
  sockaddr_storage address{};
  auto& ip4 = reinterpret_cast<sockaddr_in&>(address);
  ip4.sin_family = AF_INET;
  ip4.sin_port = htons(port);
  ip4.sin_addr.s_addr = htonl(host);
  return address;
}
sockaddr_storage ip6_address(const std::array<std::uint8_t, 16>& host, std::uint16_t port) {
  sockaddr_storage address{};
  auto& ip6 = reinterpret_cast<sockaddr_in6&>(address);
  ip6.sin6_family = AF_INET6;
  ip6.sin6_port = htons(port);
  std::copy(host.begin(), host.end(), ip6.sin6_addr.s6_addr);
  return address;
}

bool is_same_address(const sockaddr_storage& one, const sockaddr_storage& other) {
  return std::memcmp(&one, &other, sizeof one) == 0;
}
bool is_same_record(const Record& one, const Record& other) {
  return one.key == other.key && one.epoch == other.epoch && one.instance == other.instance &&
         std::equal(one.addresses.begin(), one.addresses.end(), other.addresses.begin(),
                    other.addresses.end(),
                    [](const auto& a, const auto& b) { return is_same_address(a, b); });
}

Record documented_record() {
  return {documented_key().public_key(),
          0x0102030405060708,
          0x1112131415161718,
          {ip4_address(0xc0000201, 0x1234),
           ip6_address({0x20, 0x01, 0x0d, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 9}, 0x5678)}};
}

sockaddr_storage draw_address() {
  const auto port = exs::test::draw<std::uint16_t>();
  if (exs::test::draw_bool()) return ip4_address(exs::test::draw<std::uint32_t>(), port);
  std::array<std::uint8_t, 16> host;
  for (std::uint8_t& byte : host) byte = exs::test::draw<std::uint8_t>();
  return ip6_address(host, port);
}
Record draw_record(const Key& key) {
  Record record{key.public_key(), exs::test::draw<std::uint64_t>(), exs::test::draw<std::uint64_t>(), {}};
  for (std::size_t count = 1 + exs::test::draw_index(kAddressesMax); count-- > 0;)
    record.addresses.push_back(draw_address());
  return record;
}

// Signed by its service, whatever it says.
std::vector<std::uint8_t> signed_content(std::vector<std::uint8_t> content, const Key& key) {
  const Signature signature = key.sign(Hash<32>("exs-svc record").add(content).end());
  content.insert(content.end(), signature.begin(), signature.end());
  return content;
}
// Of a record with `count` in its place, and so many IPv4 addresses.
std::vector<std::uint8_t> content_of(const Key& key, std::uint8_t count, std::size_t addresses) {
  std::vector<std::uint8_t> content(1 + 8 + 8 + 32 + 1 + 7 * addresses);
  Writer writer(content);
  writer.number(std::uint8_t{1});
  writer.number(std::uint64_t{2});
  writer.number(std::uint64_t{3});
  writer.raw(key.public_key());
  writer.number(count);
  for (std::size_t i = 0; i < addresses; ++i) {
    writer.number(std::uint8_t{4});
    writer.number(std::uint16_t{80});
    writer.number(std::uint32_t{0x7f000001});
  }
  BOOST_REQUIRE(writer.good());
  return content;
}

constexpr std::size_t kCountAt = 49;
constexpr std::size_t kFamilyAt = 50;

}  // namespace names_test

BOOST_AUTO_TEST_SUITE(names_test, *boost::unit_test::fixture<exs::test::PropertyDefaults>())

// ---------------------------------------------------------------- hashes

BOOST_AUTO_TEST_CASE(no_purpose_is_the_beginning_of_another) {
  const std::array<std::uint8_t, 3> rest = {' ', 'o', 'k'};
  BOOST_TEST((Hash<32>("exs-svc flow").add(rest).end() != Hash<32>("exs-svc flow ok").end()));
  BOOST_TEST((Hash<32>("exs-svc flow").end() != Hash<32>("exs-svc flo").end()));
  BOOST_TEST(
      (Hash<32>("exs-svc flow").end() != Hash<32>("exs-svc flow", numbered_key(1).public_key()).end()));
  // Expect: fields are one behind the other, numbers big-endian.
  const std::array<std::uint8_t, 6> both = {1, 2, 3, 4, 5, 6};
  BOOST_TEST((Hash<32>("a").number(std::uint16_t{0x0102}).number(std::uint32_t{0x03040506}).end() ==
              Hash<32>("a").add(both).end()));
}

// ---------------------------------------------------------------- digits and IDs

BOOST_AUTO_TEST_CASE(an_id_follows_from_the_key_as_documented) {
  const Key key = documented_key();
  BOOST_TEST(hex(key.public_key()) == kPublicDigits);
  BOOST_TEST(text_of(key.id()) == kIdText);
  BOOST_TEST(hex(public_name(key.id())) == "72240f6a70b58ea65f8680e84ac752cb");
}

BOOST_AUTO_TEST_CASE(an_id_is_another_one_with_every_bit_of_the_key) {
  const Key key = documented_key();
  for (std::size_t bit = 0; bit < 8 * key.public_key().size(); ++bit) {
    PublicKey other = key.public_key();
    flip_bit(other, bit);
    BOOST_TEST((id_of(other) != key.id()), "bit " << bit);
  }
  // Expect: so with the seed, and with the name that others see.
  BOOST_TEST((numbered_key(1).id() != numbered_key(2).id()));
  BOOST_TEST((public_name(numbered_key(1).id()) != public_name(numbered_key(2).id())));
  BOOST_TEST((Key().id() != Key().id()));
}

BOOST_AUTO_TEST_CASE(the_text_of_an_id_is_the_id_again) {
  BOOST_TEST(exs::test::holds("the text of an ID", [] {
    IdBytes id;
    for (std::uint8_t& byte : id) byte = exs::test::draw<std::uint8_t>();
    const std::string text = text_of(id);
    EXS_HOLD(text.size() == 36);
    EXS_HOLD(parse_id(text) == id);
  }));
}

BOOST_AUTO_TEST_CASE(what_is_not_written_like_an_id_is_none) {
  const std::string good(kIdText);
  BOOST_REQUIRE(parse_id(good).has_value());
  for (std::size_t length = 0; length < good.size(); ++length)
    BOOST_TEST(!parse_id(good.substr(0, length)).has_value(), "cut to " << length);
  const std::string digits = good.substr(4);
  for (const std::string& text :
       {good + '0', good + ' ', good + '\n', good + std::string(1, '\0'), ' ' + good, digits, "EXS:" + digits,
        "exs-" + digits, "exs::" + digits, "exs-cap:" + digits, "exs: " + digits.substr(1),
        "exs:0x" + digits.substr(2)})
    BOOST_TEST(!parse_id(text).has_value(), text);
  // Expect: of all characters in the place of a digit, 0 to 9 and a to f alone are digits.
  for (const std::size_t at : {std::size_t{4}, std::size_t{5}, good.size() - 1}) {
    for (int character = 0; character < 256; ++character) {
      std::string text = good;
      text[at] = static_cast<char>(character);
      const bool is_digit = std::string_view("0123456789abcdef").find(text[at]) != std::string_view::npos;
      BOOST_TEST(parse_id(text).has_value() == is_digit, "character " << character << " at " << at);
    }
  }
}

BOOST_AUTO_TEST_CASE(digits_that_are_wrong_write_nothing) {
  std::array<std::uint8_t, 2> to = {0x11, 0x22};
  for (const char* const digits : {"", "a", "abc", "abcde", "abcg", "abcG", "Abcd", "ab d", "0x12"}) {
    BOOST_TEST(!parse_hex(digits, to), digits);
    BOOST_TEST((to == std::array<std::uint8_t, 2>{0x11, 0x22}), digits);
  }
  BOOST_TEST(parse_hex("09af", to));
  BOOST_TEST((to == std::array<std::uint8_t, 2>{0x09, 0xaf}));
  BOOST_TEST(parse_hex("", std::span<std::uint8_t>()));
  BOOST_TEST(hex(to) == "09af");
}

// ---------------------------------------------------------------- key files

BOOST_AUTO_TEST_CASE(a_key_file_is_one_line_that_its_user_alone_may_read) {
  const OwnFolder folder;
  const mode_t before = ::umask(0);
  const int error = KeyFile::store(documented_key(), folder.file().c_str()).error();
  ::umask(before);
  BOOST_TEST(error == 0);
  BOOST_TEST(mode_of(folder.file()) == 0600U);
  BOOST_TEST(text_in(folder.file()) == "exs-key:" + std::string(kSeedDigits) + "\n");
  BOOST_TEST(text_in(folder.file()).size() == 73U);
}

BOOST_AUTO_TEST_CASE(a_key_that_is_stored_is_loaded_again) {
  const OwnFolder folder;
  for (std::uint8_t number = 0; number < 8; ++number) {
    const Key stored = numbered_key(number);
    const std::string path = folder.file(std::to_string(number).c_str());
    BOOST_TEST(KeyFile::store(stored, path.c_str()).error() == 0);
    std::optional<Key> loaded;
    BOOST_TEST(exs::svc::test::take(KeyFile::load(path.c_str()), loaded) == 0);
    BOOST_REQUIRE(loaded.has_value());
    BOOST_TEST((loaded->public_key() == stored.public_key()));
    // Expect: it signs and derives as the first one does.
    const Statement statement = statement_about({});
    BOOST_TEST((loaded->sign(statement) == stored.sign(statement)));
    BOOST_TEST((loaded->derive("a purpose") == stored.derive("a purpose")));
  }
}

BOOST_AUTO_TEST_CASE(no_file_is_written_over) {
  const OwnFolder folder;
  BOOST_REQUIRE(KeyFile::store(numbered_key(1), folder.file().c_str()).error() == 0);
  const std::string before = text_in(folder.file());
  BOOST_TEST(KeyFile::store(numbered_key(2), folder.file().c_str()).error() == EEXIST);
  BOOST_TEST(text_in(folder.file()) == before);
  // Expect: nor what a link names, or would.
  std::filesystem::create_symlink(folder.file(), folder.file("link"));
  std::filesystem::create_symlink(folder.file("nothing"), folder.file("dangling"));
  BOOST_TEST(KeyFile::store(numbered_key(2), folder.file("link").c_str()).error() == EEXIST);
  BOOST_TEST(KeyFile::store(numbered_key(2), folder.file("dangling").c_str()).error() == EEXIST);
  BOOST_TEST(text_in(folder.file()) == before);
  BOOST_TEST(!std::filesystem::exists(folder.file("nothing")));
  // Expect: where there is no folder there is no file.
  BOOST_TEST(KeyFile::store(numbered_key(2), folder.file("none/key").c_str()).error() == ENOENT);
}

BOOST_AUTO_TEST_CASE(a_key_file_that_others_may_use_is_refused) {
  const OwnFolder folder;
  BOOST_REQUIRE(KeyFile::store(numbered_key(1), folder.file().c_str()).error() == 0);
  for (const mode_t loose : {0001U, 0002U, 0004U, 0010U, 0020U, 0040U, 0077U}) {
    BOOST_REQUIRE(::chmod(folder.file().c_str(), 0600 | loose) == 0);
    expect_no_key(folder.file(), EACCES, "mode " + std::to_string(loose));
  }
  // Expect: one that its user may not write is as good.
  for (const mode_t tight : {0400U, 0600U, 0700U}) {
    BOOST_REQUIRE(::chmod(folder.file().c_str(), tight) == 0);
    std::optional<Key> key;
    BOOST_TEST(exs::svc::test::take(KeyFile::load(folder.file().c_str()), key) == 0, tight);
  }
}

BOOST_AUTO_TEST_CASE(a_key_file_of_another_user_is_refused) {
  if (::geteuid() != 0) {
    BOOST_TEST_MESSAGE("skipped: it takes root to give a file away");
    return;
  }
  const OwnFolder folder;
  BOOST_REQUIRE(KeyFile::store(numbered_key(1), folder.file().c_str()).error() == 0);
  BOOST_REQUIRE(::chown(folder.file().c_str(), 12345, static_cast<gid_t>(-1)) == 0);
  expect_no_key(folder.file(), EACCES, "another user's");
}

BOOST_AUTO_TEST_CASE(a_file_that_is_not_written_like_a_key_is_none) {
  const OwnFolder folder;
  const std::string good = "exs-key:" + std::string(kSeedDigits) + "\n";
  write_private(folder.file(), good);
  std::optional<Key> key;
  BOOST_REQUIRE(exs::svc::test::take(KeyFile::load(folder.file().c_str()), key) == 0);
  BOOST_TEST(hex(key->public_key()) == kPublicDigits);
  for (std::size_t length = 0; length < good.size(); ++length) {
    write_private(folder.file(), good.substr(0, length));
    expect_no_key(folder.file(), EPROTO, "cut to " + std::to_string(length));
  }
  std::string upper = good;
  upper[9] = 'D';
  std::string other_prefix = good;
  other_prefix[0] = 'E';
  std::string spaced = good;
  spaced[8] = ' ';
  std::string with_return = good;
  with_return.back() = '\r';
  std::string with_zero = good;
  with_zero[20] = '\0';
  for (const std::string& text :
       {good + '\n', good + 'x', good + good, good + std::string(1 << 20, '0'), upper, other_prefix, spaced,
        with_return, with_zero, '\n' + good.substr(0, good.size() - 1), std::string(73, '\n'),
        std::string(73, '\0'), std::string(73, '\xff')}) {
    write_private(folder.file(), text);
    expect_no_key(folder.file(), EPROTO, text.substr(0, 80));
  }
}

BOOST_AUTO_TEST_CASE(what_is_no_file_is_no_key) {
  const OwnFolder folder;
  std::filesystem::create_directory(folder.file());
  std::filesystem::permissions(folder.file(), std::filesystem::perms::owner_all);
  expect_no_key(folder.file(), EPROTO, "a directory");
  expect_no_key("/dev/null", EPROTO, "a device");
  BOOST_REQUIRE(::mkfifo(folder.file("fifo").c_str(), 0600) == 0);
  expect_no_key(folder.file("fifo"), EPROTO, "a FIFO that nobody writes to");
  expect_no_key(folder.file("nothing"), ENOENT, "nothing");
  expect_no_key(folder.file("key/nothing"), ENOENT, "nothing in a directory");
}

// ---------------------------------------------------------------- signatures

BOOST_AUTO_TEST_CASE(a_signature_is_that_of_rfc_8032) {
  const Statement statement = statement_about({});
  BOOST_TEST(hex(statement) == "ba9d5447ce5c4c6bf51c8644806ddb2c1b7f676764430bf4ce94beed81c19d97");
  BOOST_TEST(hex(documented_key().sign(statement)) ==
             "d5b74a5cc200f7d2c34a53768a6752e389ace164b37969e0ae3e21876efa2a04"
             "1e8f47b8b03bbe0c1e15f33ef55b09f3f247bc4a815d0bfa21d0a8d012b6ea08");
}

BOOST_AUTO_TEST_CASE(what_another_key_has_signed_or_is_about_something_else_is_not_signed) {
  const Key key = documented_key();
  const Statement statement = statement_about({});
  const Signature signature = key.sign(statement);
  BOOST_TEST(is_signed(statement, signature, key.public_key()));
  for (std::size_t bit = 0; bit < 8 * statement.size(); ++bit) {
    Statement other = statement;
    flip_bit(other, bit);
    BOOST_TEST(!is_signed(other, signature, key.public_key()), "statement, bit " << bit);
  }
  for (std::size_t bit = 0; bit < 8 * signature.size(); ++bit) {
    Signature other = signature;
    flip_bit(other, bit);
    BOOST_TEST(!is_signed(statement, other, key.public_key()), "signature, bit " << bit);
  }
  for (std::size_t bit = 0; bit < 8 * key.public_key().size(); ++bit) {
    PublicKey other = key.public_key();
    flip_bit(other, bit);
    BOOST_TEST(!is_signed(statement, signature, other), "key, bit " << bit);
  }
  BOOST_TEST(!is_signed(statement, signature, numbered_key(1).public_key()));
  BOOST_TEST(!is_signed(statement, numbered_key(1).sign(statement), key.public_key()));
  BOOST_TEST(!is_signed(statement, {}, {}));
}

BOOST_AUTO_TEST_CASE(a_statement_says_all_that_a_flow_is_about) {
  const Asked asked;
  const Key key = documented_key();
  const Signature signature = key.sign(statement_about(asked));
  const std::array<Asked, 7> others = {Asked{.first = counted_nonce(0x21)},
                                       Asked{.second = counted_nonce(0x41)},
                                       Asked{.first = asked.second, .second = asked.first},
                                       Asked{.alias = 8},
                                       Asked{.target = numbered_key(1).id()},
                                       Asked{.client = 1},
                                       Asked{.flow_number = 1}};
  for (const Asked& other : others)
    BOOST_TEST(!is_signed(statement_about(other), signature, key.public_key()));
}

BOOST_AUTO_TEST_CASE(an_answer_says_what_it_answers_and_how_far_the_service_is) {
  const Statement flow = statement_about({});
  const Statement answer = answer_statement(flow, 5, 6, false);
  BOOST_TEST(hex(answer) == "4ae09a9b321f3707b69d0dead48fd4a183a65580e8f91a8f2392aad1836b4a77");
  BOOST_TEST((answer_statement(statement_about({.alias = 8}), 5, 6, false) != answer));
  BOOST_TEST((answer_statement(flow, 4, 6, false) != answer));
  BOOST_TEST((answer_statement(flow, 5, 7, false) != answer));
  BOOST_TEST((answer_statement(flow, 6, 5, false) != answer));
  BOOST_TEST((answer_statement(flow, 5, 6, true) != answer));
}

BOOST_AUTO_TEST_CASE(the_token_of_a_link_says_both_nonces) {
  const Nonce first = counted_nonce(0x20);
  const Nonce second = counted_nonce(0x40);
  BOOST_TEST(hex(bulk_token({first, second})) ==
             "4ba818305c3bf2626717183867da899f43a0a95d8300b90fe86d54f5cc6964a7");
  BOOST_TEST((bulk_token({second, first}) != bulk_token({first, second})));
}

BOOST_AUTO_TEST_CASE(what_is_derived_for_a_purpose_is_of_no_use_for_another) {
  const Key key = documented_key();
  BOOST_TEST((key.derive("a") == key.derive("a")));
  BOOST_TEST((key.derive("a") != key.derive("ab")));
  BOOST_TEST((key.derive("a") != numbered_key(1).derive("a")));
  BOOST_TEST(hex(key.derive("a")) != kSeedDigits);
}

// ---------------------------------------------------------------- capabilities

BOOST_AUTO_TEST_CASE(a_capability_is_made_as_documented) {
  const Capability made = make_capability(documented_key(), 3, 0x01020304, 0x0102030405060708);
  BOOST_TEST(text_of(made) == kCapabilityText);
  BOOST_TEST(text_of(made).size() == 136U);
  const CapabilityProof shown = prove(made, statement_about({}));
  BOOST_TEST(hex(shown.proof) == "4b4e634d5e09b8a4cc01c36a0a53f15a58afa2ce50cf4d8dbbca4a05e8158b29");
  BOOST_TEST(shown.rights == 3U);
  BOOST_TEST(shown.serial == 0x01020304U);
  BOOST_TEST(shown.expires_ms == 0x0102030405060708);
}

BOOST_AUTO_TEST_CASE(the_text_of_a_capability_is_the_capability_again) {
  const Key key = documented_key();
  BOOST_TEST(exs::test::holds("the text of a capability", [&] {
    const Capability made =
        make_capability(key, exs::test::draw<std::uint32_t>(), exs::test::draw<std::uint32_t>(),
                        static_cast<std::int64_t>(exs::test::draw<std::uint64_t>()));
    const std::optional<Capability> parsed = parse_capability(text_of(made));
    EXS_HOLD(parsed.has_value());
    EXS_HOLD(parsed->id == made.id && parsed->rights == made.rights && parsed->serial == made.serial);
    EXS_HOLD(parsed->expires_ms == made.expires_ms && parsed->secret == made.secret);
    EXS_HOLD(proves(key, prove(*parsed, statement_about({})), statement_about({})));
  }));
}

BOOST_AUTO_TEST_CASE(what_is_not_written_like_a_capability_is_none) {
  const std::string good(kCapabilityText);
  BOOST_REQUIRE(parse_capability(good).has_value());
  for (std::size_t length = 0; length < good.size(); ++length)
    BOOST_TEST(!parse_capability(good.substr(0, length)).has_value(), "cut to " << length);
  const std::string digits = good.substr(8);
  for (const std::string& text :
       {good + '0', good + "00", good + '\n', good + std::string(1, '\0'), ' ' + good, digits,
        "exs:" + digits, "exs-key:" + digits, "EXS-CAP:" + digits})
    BOOST_TEST(!parse_capability(text).has_value(), text);
  for (std::size_t at = 8; at < good.size(); ++at) {
    for (const char character : {'A', 'F', 'g', 'G', '/', ':', '@', '`', ' ', '\0'}) {
      std::string text = good;
      text[at] = character;
      BOOST_TEST(!parse_capability(text).has_value(), "at " << at);
    }
  }
}

BOOST_AUTO_TEST_CASE(a_proof_of_other_rights_or_of_another_use_proves_nothing) {
  const Key key = documented_key();
  const Statement about = statement_about({});
  const Capability capability = make_capability(key, 1, 5, 1'000'000);
  const CapabilityProof shown = prove(capability, about);
  BOOST_TEST(proves(key, shown, about));
  // Expect: what it says belongs to the secret.
  const auto expect_none = [&](const auto& change) {
    CapabilityProof other = shown;
    change(other);
    BOOST_TEST(!proves(key, other, about));
    Capability raised = capability;
    raised.rights = other.rights;
    raised.serial = other.serial;
    raised.expires_ms = other.expires_ms;
    BOOST_TEST(proves(key, prove(raised, about), about) ==
               (raised.rights == 1 && raised.serial == 5 && raised.expires_ms == 1'000'000));
  };
  expect_none([](CapabilityProof& other) { other.rights = 3; });
  expect_none([](CapabilityProof& other) { other.rights = 0x80000001; });
  expect_none([](CapabilityProof& other) { other.serial = 6; });
  expect_none([](CapabilityProof& other) { other.serial = 4; });
  expect_none([](CapabilityProof& other) { other.expires_ms = 0; });
  expect_none([](CapabilityProof& other) { other.expires_ms = -1'000'000; });
  expect_none([](CapabilityProof& other) { other.expires_ms += INT64_C(1) << 32; });
  for (std::size_t bit = 0; bit < 8 * shown.proof.size(); ++bit)
    expect_none([bit](CapabilityProof& other) { flip_bit(other.proof, bit); });
  // Expect: fields do not run into each other.
  expect_none([](CapabilityProof& other) { std::swap(other.rights, other.serial); });
  // Expect: it is about this flow on this link, of this service.
  for (const Asked& other :
       {Asked{.first = counted_nonce(0x21)}, Asked{.second = counted_nonce(0x41)}, Asked{.alias = 8},
        Asked{.target = numbered_key(1).id()}, Asked{.client = 1}, Asked{.flow_number = 1}})
    BOOST_TEST(!proves(key, shown, statement_about(other)));
  BOOST_TEST(!proves(numbered_key(1), shown, about));
  BOOST_TEST(!proves(key, prove(make_capability(numbered_key(1), 1, 5, 1'000'000), about), about));
}

// ---------------------------------------------------------------- records

BOOST_AUTO_TEST_CASE(a_record_has_its_bytes_where_the_format_says) {
  BOOST_TEST(hex(encode_record(documented_record(), documented_key())) ==
             "01"
             "0102030405060708"
             "1112131415161718" +
                 std::string(kPublicDigits) +
                 "02"
                 "041234c0000201"
                 "06567820010db8000000000000000000000009"
                 "5b10eba67ed8407612dd6de09648c3905b6a124a37eb3d55db3ff18f9b71e6f5"
                 "127037f20d220d12edb65928ece51ac4a73fac3111051dad2aabf74ae7576b06");
  BOOST_TEST(kRecordMax == 190U);
}

BOOST_AUTO_TEST_CASE(a_record_comes_back_as_it_was) {
  const Key key = documented_key();
  BOOST_TEST(exs::test::holds("a record's round trip", [&] {
    const Record sent = draw_record(key);
    const std::vector<std::uint8_t> bytes = encode_record(sent, key);
    EXS_HOLD(bytes.size() <= kRecordMax);
    const std::optional<Record> record = decode_record(bytes, key.id());
    EXS_HOLD(record.has_value() && is_same_record(*record, sent));
  }));
}

BOOST_AUTO_TEST_CASE(a_record_with_a_bit_that_has_flipped_is_none) {
  const Key key = documented_key();
  BOOST_TEST(exs::test::holds("a bit of a record", [&] {
    std::vector<std::uint8_t> bytes = encode_record(draw_record(key), key);
    flip_bit(bytes, exs::test::draw_index(8 * bytes.size()));
    EXS_HOLD(!decode_record(bytes, key.id()).has_value());
  }));
  // Expect: nor with any bit of one.
  std::vector<std::uint8_t> bytes = encode_record(documented_record(), key);
  for (std::size_t bit = 0; bit < 8 * bytes.size(); ++bit) {
    flip_bit(bytes, bit);
    BOOST_TEST(!decode_record(bytes, key.id()).has_value(), "bit " << bit);
    flip_bit(bytes, bit);
  }
  BOOST_TEST(decode_record(bytes, key.id()).has_value());
}

BOOST_AUTO_TEST_CASE(a_record_of_another_service_is_none) {
  const Key key = documented_key();
  const Key other = numbered_key(1);
  BOOST_TEST(!decode_record(encode_record(documented_record(), key), other.id()).has_value());
  // Expect: nor one that another key has signed, with either key in it.
  Record forged = documented_record();
  BOOST_TEST(!decode_record(encode_record(forged, other), key.id()).has_value());
  BOOST_TEST(!decode_record(encode_record(forged, other), other.id()).has_value());
  forged.key = other.public_key();
  BOOST_TEST(!decode_record(encode_record(forged, other), key.id()).has_value());
  BOOST_TEST(!decode_record(encode_record(forged, key), key.id()).has_value());
  // Expect: nor what the service has signed as something else.
  std::vector<std::uint8_t> content = content_of(key, 1, 1);
  const Signature signature = key.sign(Hash<32>("exs-svc flow").add(content).end());
  content.insert(content.end(), signature.begin(), signature.end());
  BOOST_TEST(!decode_record(content, key.id()).has_value());
}

BOOST_AUTO_TEST_CASE(a_record_has_one_to_four_addresses) {
  const Key key = documented_key();
  for (std::uint8_t count = 0; count < 8; ++count) {
    const std::vector<std::uint8_t> bytes = signed_content(content_of(key, count, count), key);
    BOOST_TEST(decode_record(bytes, key.id()).has_value() == (count >= 1 && count <= 4), unsigned{count});
  }
  BOOST_TEST(!decode_record(signed_content(content_of(key, 255, 4), key), key.id()).has_value());
  // Expect: and as many as it says.
  BOOST_TEST(!decode_record(signed_content(content_of(key, 1, 2), key), key.id()).has_value());
  BOOST_TEST(!decode_record(signed_content(content_of(key, 2, 1), key), key.id()).has_value());
  // Expect: of more, the first four are written.
  Record record = documented_record();
  record.addresses.clear();
  for (std::uint16_t port = 1; port <= 6; ++port) record.addresses.push_back(ip4_address(0x7f000001, port));
  const std::optional<Record> written = decode_record(encode_record(record, key), key.id());
  BOOST_REQUIRE(written.has_value());
  record.addresses.resize(4);
  BOOST_TEST(is_same_record(*written, record));
  record.addresses.clear();
  BOOST_TEST(!decode_record(encode_record(record, key), key.id()).has_value());
}

BOOST_AUTO_TEST_CASE(a_record_of_another_version_or_family_is_none) {
  const Key key = documented_key();
  for (unsigned version = 0; version < 256; ++version) {
    std::vector<std::uint8_t> content = content_of(key, 1, 1);
    content[0] = static_cast<std::uint8_t>(version);
    BOOST_TEST(decode_record(signed_content(content, key), key.id()).has_value() == (version == 1), version);
  }
  for (unsigned family = 0; family < 256; ++family) {
    std::vector<std::uint8_t> content = content_of(key, 1, 1);
    content[kFamilyAt] = static_cast<std::uint8_t>(family);
    // As long as one of IPv6 needs, too.
    BOOST_TEST(decode_record(signed_content(content, key), key.id()).has_value() == (family == 4), family);
    content.resize(content.size() + 12);
    BOOST_TEST(decode_record(signed_content(content, key), key.id()).has_value() == (family == 6), family);
  }
}

BOOST_AUTO_TEST_CASE(a_record_cut_anywhere_or_longer_is_none) {
  const Key key = documented_key();
  const std::vector<std::uint8_t> whole = encode_record(documented_record(), key);
  const std::size_t content_bytes = whole.size() - 64;
  BOOST_TEST(whole[kCountAt] == 2);
  for (std::size_t length = 0; length < whole.size(); ++length) {
    const std::vector<std::uint8_t> cut(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(length));
    BOOST_TEST(!decode_record(cut, key.id()).has_value(), "cut to " << length);
    if (length < content_bytes)
      BOOST_TEST(!decode_record(signed_content(cut, key), key.id()).has_value(), "signed, cut to " << length);
  }
  for (const std::uint8_t byte : std::initializer_list<std::uint8_t>{0, 1, 255}) {
    std::vector<std::uint8_t> longer = whole;
    longer.push_back(byte);
    BOOST_TEST(!decode_record(longer, key.id()).has_value());
    longer.assign(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(content_bytes));
    longer.push_back(byte);
    BOOST_TEST(!decode_record(signed_content(longer, key), key.id()).has_value());
  }
}

BOOST_AUTO_TEST_CASE(bytes_of_anybody_are_no_record) {
  const Key key = documented_key();
  BOOST_TEST(exs::test::holds("hostile records", [&] {
    std::vector<std::uint8_t> bytes = encode_record(draw_record(key), key);
    const std::vector<std::uint8_t> before = bytes;
    for (std::size_t changes = exs::test::draw_index(4); changes-- > 0;)
      bytes[exs::test::draw_index(bytes.size())] = exs::test::draw<std::uint8_t>();
    if (exs::test::draw_bool()) bytes.resize(exs::test::draw<std::size_t>(0, bytes.size() + 9));
    EXS_HOLD(decode_record(bytes, key.id()).has_value() == (bytes == before));
    const std::vector<std::uint8_t> any = exs::test::draw_bytes();
    EXS_HOLD(!decode_record(any, key.id()).has_value());
  }));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace exs::svc
