// exs-cp: copies a file to another process, straight from one mapped file into the other.
//   exs-cp -s [ADDRESS:]PORT TARGET (receives, and ends; port 0: any)    exs-cp [HOST:]PORT SOURCE (sends)
// Without an address both ends are on this machine; 0.0.0.0 receives on all of its addresses.
// On the wire: length and checksum (8 bytes each, big endian), then the file in pieces. The receiver answers
// with a sentence, "ok" or the error. The target gets its name when it is complete, and is never replaced.
// SPDX-License-Identifier: BSD-2-Clause
#include <endian.h>
#include <exs/exs.h>
#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstddef>
#include <cstring>
#include <filesystem>
#include <string>

namespace {
namespace fs = std::filesystem;
constexpr std::size_t kPieceBytes = 4 << 20, kPiecesUnderWay = 8, kAnswerBytes = 1024;
exs_qhandle_t queue;
exs_event_t event;  // the last one
struct Notes {      // sent besides the file
  std::uint64_t length_bytes, checksum;
  char answer[kAnswerBytes];
} notes;
exs_mhandle_t note_region;

[[noreturn]] void fail(const std::string& what) {
  throw std::runtime_error(what);
}

template <typename T>
T check(T result, const std::string& what) {
  if (result == -1) fail(what + ": " + std::strerror(errno));
  return result;
}

// Waits for the next event, which has this type unless the receiver has sent its answer. Returns the event's length.
std::size_t next(int type, const std::string& doing) {
  int taken = 0;
  do taken = exs_qdequeue(queue, &event, 1, nullptr);
  while (taken == -1 && errno == EINTR);
  check(taken, doing);
  if (event.exs_evt_errno != 0) fail(doing + ": " + std::strerror(event.exs_evt_errno));
  if ((event.exs_evt_flags & EXS_EVF_EOF) != 0) fail(doing + ": the other end has ended");
  const std::size_t length = exs_event_bytes(&event);
  if (event.exs_evt_type != type) fail("the receiver says: " + std::string(notes.answer, length));
  return length;
}

// FNV-1a: detects accidents, not attacks.
std::uint64_t checksum(std::string_view bytes) {
  std::uint64_t sum = 0xcbf29ce484222325U;
  for (const char byte : bytes) sum = (sum ^ static_cast<unsigned char>(byte)) * 0x100000001b3U;
  return sum;
}

// A whole file as registered memory. If the file shrinks meanwhile, its lost pages raise SIGBUS.
struct MappedFile {
  MappedFile(const std::string& name, int descriptor, std::size_t length, int access) : size(length) {
    if (length == 0) return;
    bytes = static_cast<char*>(mmap(nullptr, length, access, MAP_SHARED, descriptor, 0));
    check(bytes == MAP_FAILED ? -1 : 0, name);
    region = check(exs_mregister(bytes, length, EXS_MRF_REMOTE_READ), name + ": cannot register");
  }
  const std::size_t size;
  char* bytes = nullptr;
  exs_mhandle_t region = EXS_MHANDLE_INVALID;
};

// Both ends walk through the file piece by piece: `post` is exs_send or exs_recv, `type` is its event.
template <typename Post>
void transfer(int socket, const MappedFile& file, Post post, int type) {
  const auto length = [&](std::size_t start) { return std::min(kPieceBytes, file.size - start); };
  for (std::size_t posted = 0, done = 0; done < file.size; done += kPieceBytes) {
    for (; posted < file.size && posted < done + kPiecesUnderWay * kPieceBytes; posted += kPieceBytes)
      check(post(socket, file.bytes + posted, length(posted), 0, queue, nullptr, file.region), "cannot post");
    if (next(type, "copying") != length(done)) fail("a piece has the wrong length");
  }
}

void send_file(int socket, const std::string& source) {
  const int descriptor = check(open(source.c_str(), O_RDONLY | O_CLOEXEC), source);
  const MappedFile file(source, descriptor, fs::file_size(source), PROT_READ);
  notes.length_bytes = htobe64(file.size);
  notes.checksum = htobe64(checksum({file.bytes, file.size}));
  check(exs_send(socket, &notes, offsetof(Notes, answer), 0, queue, nullptr, note_region), "exs_send");
  next(EXS_EVT_SEND, "sending");
  check(exs_recv(socket, notes.answer, kAnswerBytes, 0, queue, nullptr, note_region), "exs_recv");
  transfer(socket, file, exs_send, EXS_EVT_SEND);
  const std::string answer(notes.answer, next(EXS_EVT_RECV, "waiting for the answer"));
  if (answer != "ok") fail("the receiver says: " + answer);
}

void receive_into(int socket, const std::string& part) {
  check(exs_recv(socket, &notes, offsetof(Notes, answer), 0, queue, nullptr, note_region), "exs_recv");
  if (next(EXS_EVT_RECV, "receiving") != offsetof(Notes, answer)) fail("no header came");
  const std::uint64_t total = be64toh(notes.length_bytes);
  const int descriptor = check(open(part.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0644), part);
  // Allocates all of the file now or fails now: a disk that fills up later would raise SIGBUS.
  if (total > 0 && (errno = posix_fallocate(descriptor, 0, static_cast<off_t>(total))) != 0) check(-1, part);
  const MappedFile file(part, descriptor, total, PROT_READ | PROT_WRITE);
  transfer(socket, file, exs_recv, EXS_EVT_RECV);
  if (checksum({file.bytes, total}) != be64toh(notes.checksum)) fail("wrong checksum");
}

void receive_file(int socket, const std::string& target) {
  const std::string part = target + ".part-" + std::to_string(getpid());
  std::string answer = "ok";
  try {
    receive_into(socket, part);
    fs::create_hard_link(part, target);  // unlike rename, this never replaces a file
  } catch (const std::exception& error) {
    answer = error.what();
  }
  fs::remove(part);
  exs_send(socket, notes.answer, answer.copy(notes.answer, kAnswerBytes), 0, queue, nullptr, note_region);
  exs_close(socket);  // lets the send finish
  if (answer != "ok") fail(answer);
}

// Resolves "HOST:PORT" or "PORT".
sockaddr_in resolve(const std::string& word) {
  const std::size_t colon = word.rfind(':');
  const std::string host = colon == std::string::npos ? "127.0.0.1" : word.substr(0, colon);
  addrinfo hints{}, *found = nullptr;
  hints.ai_family = AF_INET;
  hints.ai_flags = AI_NUMERICSERV;
  const int error = getaddrinfo(host.c_str(), word.substr(colon + 1).c_str(), &hints, &found);
  if (error != 0) fail(word + ": " + gai_strerror(error));
  const sockaddr_in address = *reinterpret_cast<const sockaddr_in*>(found->ai_addr);
  freeaddrinfo(found);
  return address;
}
}  // namespace

constexpr char help[] =
    "usage: exs-cp -s [ADDRESS:]PORT TARGET\n"
    "       exs-cp [HOST:]PORT SOURCE\n"
    "Copies the file SOURCE to the process with -s, which writes TARGET and ends.\n"
    "ADDRESS and HOST are 127.0.0.1 by default. PORT 0 with -s is any free port.\n"
    "TARGET is never replaced. The exit status is 0, or 1 after an error.\n";

int main(int argc, char** argv) try {
  if (argc == 2 && std::string(argv[1]) == "--help") return std::fputs(help, stdout) < 0 ? 1 : 0;
  const bool serve = argc == 4 && std::string(argv[1]) == "-s";
  if (argc != 3 && !serve) fail("usage: exs-cp -s [ADDRESS:]PORT TARGET, or exs-cp [HOST:]PORT SOURCE");
  const std::string file = argv[argc - 1];
  if (serve && fs::exists(file)) fail(file + ": exists, and is not replaced");
  sockaddr_in address = resolve(argv[argc - 2]);
  auto* generic = reinterpret_cast<sockaddr*>(&address);
  socklen_t length = sizeof address;
  check(exs_init(EXS_VERSION), "exs_init");
  queue = check(exs_qcreate(64), "exs_qcreate");
  note_region = check(exs_mregister(&notes, sizeof notes, 0), "exs_mregister");
  const int socket = check(exs_socket(AF_INET, SOCK_SEQPACKET, 0), "exs_socket");
  if (serve) {
    check(exs_bind(socket, generic, length), "cannot serve on this port");
    check(exs_listen(socket, 1), "exs_listen");
    check(exs_getsockname(socket, generic, &length), "exs_getsockname");
    check(exs_accept(socket, nullptr, 0, queue, nullptr), "exs_accept");
    dprintf(STDOUT_FILENO, "listening on port %d\n", ntohs(address.sin_port));
    next(EXS_EVT_ACCEPT, "waiting for the sender");
    receive_file(exs_event_new_socket(&event), file);
  } else {
    check(exs_connect(socket, generic, length, 0, queue, nullptr), "exs_connect");
    next(EXS_EVT_CONNECT, "cannot connect to the receiver");
    send_file(socket, file);
  }
  std::printf("%s %s, %ju bytes\n", serve ? "received" : "sent", file.c_str(), fs::file_size(file));
  return exs_fini();
} catch (const std::exception& error) {
  std::fprintf(stderr, "exs-cp: %s\n", error.what());
  return 1;
}
