// What a program is told of its mistakes: an errno or an event, a sentence, and perhaps a log line.
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <mutex>
#include <string>
#include <string_view>
#include <vector>

namespace exs::test {

// The lines that the library logs while it lives. Thread: any.
class LogLines {
 public:
  LogLines();
  ~LogLines();
  LogLines(const LogLines&) = delete;
  LogLines& operator=(const LogLines&) = delete;

  // One line of those of warnings and errors until now that has these words; "" if none has.
  [[nodiscard]] std::string with(std::string_view words);
  [[nodiscard]] std::size_t count_with(std::string_view words);

 private:
  static void take(int level, const char* line, void* self);

  std::mutex mutex_;
  std::vector<std::string> lines_;
};

// Adds a row to the table that is printed at the end. Fails when nothing but an errno is told, or not these words.
void told(std::string_view mistake, const std::string& outcome, const std::string& sentence,
          std::string_view words);
// The same of the last call that failed.
void told_by_call(std::string_view mistake, int result, std::string_view words);
// The sentence of a manual page that has these words: what there is to read of a mistake which is no error.
std::string sentence_of(const std::string& page, std::string_view words);
// EXS_SO_ERROR_TEXT.
std::string error_text(int socket);
void print_report();

}  // namespace exs::test
