// What a server of HTTP answers exs-fetch, in any pieces, and the URLs of users.
// SPDX-License-Identifier: BSD-2-Clause
#include <memory>
#include <string>

#include "tests/fuzz/fuzz.h"
#include "tools/common/failure.h"
#include "tools/fetch/http.h"
#include "tools/fetch/url.h"

namespace exs::fuzz::fetch_http {

// No answer of this target is longer. A server may announce more, and then has to have ended.
constexpr std::size_t kAnswerBytesMax = 1U << 20U;

class AnyStream final : public fetch::Stream {
 public:
  AnyStream(std::string answer, std::size_t piece) : answer_(std::move(answer)), piece_(piece) {}

  void send(std::string_view) override {}
  std::size_t receive(std::span<char> into, exs_mhandle_t, bool all) override {
    hold(!into.empty(), "there is room");
    std::size_t count = std::min(into.size(), answer_.size() - at_);
    if (!all) count = std::min(count, piece_);
    if (count > 0) std::memcpy(into.data(), answer_.data() + at_, count);
    at_ += count;
    return count;
  }
  [[nodiscard]] std::string provider() const override { return "tcp"; }

 private:
  const std::string answer_;
  const std::size_t piece_;
  std::size_t at_ = 0;
};

void get(fetch::HttpConnection& connection) {
  const fetch::Url url{"", "localhost", 80, "/"};
  for (int requests = 0; requests < 4 && connection.is_open(); ++requests) {
    const fetch::Answer& answer = connection.get(url);
    hold(answer.status >= 100 && answer.status <= 999, "a status of three digits");
    for (const std::string_view piece : answer.body)
      hold(piece.size() <= kAnswerBytesMax, "no more than was sent");
  }
}

}  // namespace exs::fuzz::fetch_http

EXS_FUZZ_TARGET(fetch_http) {
  using namespace exs::fuzz::fetch_http;
  const auto piece = 1 + input.below(200);
  const bool is_url = input.one_in(8);
  try {
    const std::string text = input.rest_of_text();
    if (is_url) {
      static_cast<void>(fetch::parse_url(text).text());
      return;
    }
    fetch::HttpConnection connection(std::make_unique<AnyStream>(text, piece));
    get(connection);
  } catch (const tools::Failure&) {
    // The answer is wrong, and the user reads why.
  }
}
