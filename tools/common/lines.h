// Lines of programs that serve others: nobody who does not read them may hold these up, or end them.
#pragma once

#include <cstdint>
#include <string>

namespace tools {

// A line to that descriptor, at once or not at all, and without a SIGPIPE. The line has no newline.
void tell(int descriptor, std::string line) noexcept;

// Of a cause that may come again and again, eight lines in ten seconds. Thread: one at a time.
class LineLimit {
 public:
  // Whether a line may be told now; `left_out`: so many were not, before it.
  bool admit(std::uint64_t now_ns, std::uint64_t& left_out) noexcept;

 private:
  std::uint64_t begun_ns_ = 0;
  unsigned lines_ = 0;
  std::uint64_t left_out_ = 0;
};

// What `limit` admits, to standard error, with a line before it of what was left out.
void tell_limited(LineLimit& limit, const std::string& line) noexcept;

}  // namespace tools
