// What tests of a directory have: a place, records of services that are there, and a file of its own.
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <iterator>
#include <string>

#include "service/names/address.h"
#include "service/names/record.h"
#include "tests/service/world.h"

namespace exs::svc::test {

inline const sockaddr_storage kHere = *parse_address("127.0.0.1:7000");

inline Record record_of(const PublicKey& key, std::uint64_t epoch, std::uint64_t instance) {
  return {key, epoch, instance, {kHere}};
}

class OwnFile {
 public:
  OwnFile() { BOOST_REQUIRE(::mkdtemp(folder_.data()) != nullptr); }
  ~OwnFile() {
    ::unlink(path().c_str());
    ::rmdir(folder_.c_str());
  }
  OwnFile(const OwnFile&) = delete;
  OwnFile& operator=(const OwnFile&) = delete;
  [[nodiscard]] std::string path() const { return folder_ + "/services"; }
  [[nodiscard]] std::string text() const {
    std::ifstream file(path());
    return {std::istreambuf_iterator<char>(file), {}};
  }
  void write(const std::string& text) const { std::ofstream(path(), std::ios::trunc) << text; }

 private:
  std::string folder_ = "/tmp/exs-directory-XXXXXX";
};

}  // namespace exs::svc::test
