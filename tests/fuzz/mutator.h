// Changes inputs as libFuzzer does, without its knowledge of the program: for builds of other compilers.
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstddef>
#include <cstdint>
#include <random>
#include <vector>

namespace exs::fuzz {

// The same changes for the same seed. Thread: one.
class Mutator {
 public:
  explicit Mutator(std::uint64_t seed) : engine_(seed) {}

  // A few changes of `input`; `other` lends bytes. The result is never empty, nor longer than `most`.
  std::vector<std::byte> change(std::vector<std::byte> input, const std::vector<std::byte>& other,
                                std::size_t most);
  std::size_t below(std::size_t end) { return engine_() % end; }

 private:
  void change_once(std::vector<std::byte>& input, const std::vector<std::byte>& other);
  void put_number(std::vector<std::byte>& input);
  void insert(std::vector<std::byte>& input, const std::vector<std::byte>& from);
  void overwrite(std::vector<std::byte>& input, const std::vector<std::byte>& from);

  std::mt19937_64 engine_;
};

}  // namespace exs::fuzz
