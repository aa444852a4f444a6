// Calls that move bytes between a connection and a file, a pipe or a stdio stream.
// SPDX-License-Identifier: BSD-2-Clause
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <vector>

#include "tests/sockets/twin/call.h"
#include "tests/sockets/twin/stream.h"

namespace twin {
namespace {

std::vector<unsigned char> bytes_of(const Command& command) {
  std::vector<unsigned char> bytes(static_cast<std::size_t>(command.length));
  fill_from_stream(bytes, command.stream, command.position);
  return bytes;
}

// Takes the call's answer before the closes, which may change errno.
Answer with_bytes(Answer answer) {
  if (answer.result > 0) answer.bytes = answer.result;
  return answer;
}

void check(Answer& answer, const Command& command, const std::vector<unsigned char>& bytes) {
  answer.hash = command.hash;
  if (answer.bytes <= 0) return;
  const std::span<const unsigned char> taken(bytes.data(), static_cast<std::size_t>(answer.bytes));
  answer.hash = hash_of(taken, command.hash);
  answer.first_wrong = first_wrong(taken, command.stream, command.position);
}

// parts == 1: uses the file's own offset, else a given one.
Answer send_file(const Command& command) {
  const std::vector<unsigned char> bytes = bytes_of(command);
  const int file = memfd_create("twin", MFD_CLOEXEC);
  if (file < 0 || write(file, bytes.data(), bytes.size()) != static_cast<ssize_t>(bytes.size())) return {};
  lseek(file, 0, SEEK_SET);
  off_t offset = 0;
  const bool with_offset = command.parts != 1;
  const auto length = static_cast<std::size_t>(command.length);
  Answer answer = with_bytes(answer_of(sendfile(command.fd, file, with_offset ? &offset : nullptr, length)));
  answer.values[0] = static_cast<std::int32_t>(offset);
  answer.values[1] = static_cast<std::int32_t>(lseek(file, 0, SEEK_CUR));
  close(file);
  return answer;
}

Answer splice_through(const Command& command) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return {};
  const auto length = static_cast<std::size_t>(command.length);
  Answer answer;
  if (command.op == Op::splice_in) {
    const std::vector<unsigned char> bytes = bytes_of(command);
    if (write(ends[1], bytes.data(), bytes.size()) == static_cast<ssize_t>(bytes.size()))
      answer =
          with_bytes(answer_of(splice(ends[0], nullptr, command.fd, nullptr, length, SPLICE_F_NONBLOCK)));
  } else {
    answer = with_bytes(answer_of(splice(command.fd, nullptr, ends[1], nullptr, length, SPLICE_F_NONBLOCK)));
    std::vector<unsigned char> bytes(length);
    if (answer.bytes > 0 && read(ends[0], bytes.data(), bytes.size()) != answer.bytes) answer.first_wrong = 0;
    if (answer.first_wrong < 0) check(answer, command, bytes);
  }
  close(ends[0]);
  close(ends[1]);
  return answer;
}

Answer write_stream(const Command& command, FILE* stream) {
  const std::vector<unsigned char> bytes = bytes_of(command);
  Answer answer;
  answer.result = 0;
  if (command.variant == 0) {
    answer.bytes = static_cast<std::int64_t>(fwrite(bytes.data(), 1, bytes.size(), stream));
  } else {
    for (const unsigned char byte : bytes)
      if (fputc(byte, stream) != EOF) ++answer.bytes;
  }
  errno = 0;
  answer.result = fflush(stream);
  answer.error = answer.result == 0 ? 0 : errno;
  return answer;
}

Answer read_stream(const Command& command, FILE* stream) {
  std::vector<unsigned char> bytes(static_cast<std::size_t>(command.length));
  Answer answer;
  errno = 0;
  if (command.variant == 0) {
    answer.bytes = static_cast<std::int64_t>(fread(bytes.data(), 1, bytes.size(), stream));
  } else {
    for (int byte = 0; answer.bytes < command.length && (byte = fgetc(stream)) != EOF; ++answer.bytes)
      bytes[static_cast<std::size_t>(answer.bytes)] = static_cast<unsigned char>(byte);
  }
  answer.result = answer.bytes;
  answer.error = ferror(stream) != 0 ? errno : 0;
  answer.values[2] = feof(stream) != 0;
  check(answer, command, bytes);
  return answer;
}

}  // namespace

Answer perform_file(const Command& command) {
  return command.op == Op::sendfile ? send_file(command) : splice_through(command);
}

// Uses a duplicate, which fclose closes.
Answer perform_stdio(const Command& command) {
  const bool is_write = command.op == Op::stdio_write;
  const int number = dup(command.fd);
  if (number < 0) return answer_of(-1);
  FILE* const stream = fdopen(number, is_write ? "w" : "r");
  if (stream == nullptr) {
    const Answer answer = answer_of(-1);
    close(number);
    return answer;
  }
  Answer answer = is_write ? write_stream(command, stream) : read_stream(command, stream);
  answer.values[0] = fileno(stream) == number;
  answer.values[1] = fclose(stream);
  return answer;
}

}  // namespace twin
