#include "tools/common/lines.h"

#include <unistd.h>

#include <exception>
#include <utility>

#include "src/base/kernel.h"
#include "tools/common/clock.h"

namespace tools {

void tell(int descriptor, std::string line) noexcept try {
  line += '\n';
  exs::kernel::write_at_once(descriptor, line.data(), line.size());
} catch (const std::exception&) {  // no memory for it
}

bool LineLimit::admit(std::uint64_t now_ns, std::uint64_t& left_out) noexcept {
  constexpr std::uint64_t kWindowNs = 10'000'000'000;
  constexpr unsigned kLines = 8;
  left_out = 0;
  if (lines_ == 0 || now_ns - begun_ns_ >= kWindowNs) {
    left_out = std::exchange(left_out_, 0);
    begun_ns_ = now_ns;
    lines_ = 0;
  }
  if (lines_ < kLines) return ++lines_, true;
  ++left_out_;
  return false;
}

void tell_limited(LineLimit& limit, const std::string& line) noexcept try {
  std::uint64_t left_out = 0;
  if (!limit.admit(static_cast<std::uint64_t>(now_ns()), left_out)) return;
  if (left_out > 0)
    tell(STDERR_FILENO, std::to_string(left_out) + " more lines like the next one were left out");
  tell(STDERR_FILENO, line);
} catch (const std::exception&) {  // as above
}

}  // namespace tools
