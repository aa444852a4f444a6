// SPDX-License-Identifier: BSD-2-Clause
#include "rpc/fast/client_binding.h"

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "base/clock.h"
#include "base/refusal.h"
#include "base/socket_address.h"
#include "rpc/channel/close_socket.h"
#include "rpc/channel/open_socket.h"
#include "rpc/channel/process.h"
#include "rpc/fast/named_refusal.h"

namespace exs::rpc {
namespace {

constexpr int kQueueDepth = 256;
// A window is watched this long before the client asks for the bell. The thread sees the bell without a sleep for a while longer.
constexpr std::int64_t kSpinNs = 20'000;

// Returns the socket, whose EXS_EVT_CONNECT goes to `queue`.
Result<int> begin_connect(const ServerAddress& server, exs_qhandle_t queue, std::int64_t limit_ns) {
  const int socket = open_socket(server.bytes.ss_family, "rpc");
  if (socket < 0) return failure(errno);
  constexpr std::size_t kSmall = kFrameBytes + kInlineBytes;
  const int connect_ms = static_cast<int>(std::clamp<std::int64_t>(limit_ns / 1'000'000, 1, INT32_MAX));
  exs_fcntl(socket, EXS_F_SET_SMALL_MAX, kSmall);
  exs_setsockopt(socket, SOL_EXS, EXS_SO_CONNECT_TIMEOUT_MS, &connect_ms, sizeof connect_ms);
  if (exs_connect(socket, as_sockaddr(server.bytes), server.length, 0, queue, nullptr) == 0) return socket;
  const Status why(errno);
  close_socket(socket);
  return failure(why);
}

Status cannot_connect(int error) {
  return refuse_in_words(error, {"cannot connect: ", exs_errtext()});
}
Status no_server_of_rpc() {
  return refuse(EPROTO, "no server of exs-rpc answers there");
}

}  // namespace

Result<std::unique_ptr<ClientBinding>> ClientBinding::make(const ServerAddress& server,
                                                           const exs_rpc_interface_t& interface,
                                                           const BindingParameters& parameters,
                                                           std::int64_t limit_ns) {
  const std::uint64_t end_ns = limit_after(monotonic_ns(), limit_ns);
  std::unique_ptr<ClientBinding> made(new ClientBinding(parameters));
  if (const Status started = start_library(); !started.ok())
    return failure(
        refuse_in_words(started.error(), {"exs does not start: ", std::strerror(started.error())}));
  if (const Status connected = made->connect(server, limit_ns); !connected.ok()) return failure(connected);
  if (const Status greeted = made->greet(interface, end_ns); !greeted.ok()) return failure(greeted);
  if (!parameters.window) return made;
  if (const Status got = made->get_window(server, end_ns); !got.ok()) return failure(got);
  return made;
}

ClientBinding::~ClientBinding() {
  window_.reset();
  link_.reset();
  if (queue_ != EXS_QHANDLE_INVALID) exs_qdelete(queue_);
}

Status ClientBinding::connect(const ServerAddress& server, std::int64_t limit_ns) {
  queue_ = exs_qcreate(kQueueDepth);
  if (queue_ == EXS_QHANDLE_INVALID) return cannot_connect(errno);
  const Result<int> socket = begin_connect(server, queue_, limit_ns);
  if (!socket) return cannot_connect(socket.error().error());
  link_.reset(new (std::nothrow) MessageLink(*socket, queue_, this));
  if (link_ == nullptr) {
    close_socket(*socket);
    return Status(ENOMEM);
  }
  exs_event_t event{};
  while (exs_qwait(queue_, &event, 1, 1, -1) != 1)
    if (errno != EINTR) return cannot_connect(errno);
  if (event.exs_evt_errno == 0) return {};
  std::array<char, 200> why{};
  socklen_t length = why.size() - 1;
  exs_getsockopt(*socket, SOL_EXS, EXS_SO_ERROR_TEXT, why.data(), &length);
  return refuse_in_words(event.exs_evt_errno, {"cannot connect: ", why.data()});
}

Status ClientBinding::greet(const exs_rpc_interface_t& interface, std::uint64_t end_ns) {
  if (const Status sent = send_greeting(interface); !sent.ok()) return sent;
  if (const Status welcome = await_message(FrameType::kWelcome, end_ns); !welcome.ok()) return welcome;
  if (const Status taken = take_welcome(interface); !taken.ok()) return taken;
  if (const Status table = await_message(FrameType::kMessage, end_ns); !table.ok()) return table;
  return take_verdicts(interface);
}

Status ClientBinding::send_greeting(const exs_rpc_interface_t& interface) {
  ProgramHello hello;
  hello.program = interface.program;
  hello.version = interface.version;
  const std::vector<TableEntry> table = table_of(interface);
  const std::size_t bytes = table.size() * sizeof(TableEntry);
  MessageBuffer message;
  if (!message.reserve(kHeaderBytes + bytes)) return refuse(ENOMEM, "no memory for a message");
  CallHeader header;
  header.kind = CallMessage::kTable;
  header.length = static_cast<std::uint32_t>(bytes);
  put_header(header, message.message());
  if (bytes != 0) std::memcpy(message.message() + kHeaderBytes, table.data(), bytes);
  Status sent = link_->start_receiving(parameters_.longest);
  if (sent.ok()) sent = link_->send_frame(FrameType::kHello, bytes_of(hello));
  if (sent.ok()) sent = link_->send_copied(message, kHeaderBytes + bytes);
  return sent.ok() ? sent : refuse_in_words(sent.error(), {"cannot greet the server: ", exs_errtext()});
}

Status ClientBinding::take_welcome(const exs_rpc_interface_t& interface) {
  ServerWelcome welcome;
  if (!read_words(link_->received(), welcome)) return no_server_of_rpc();
  const Decimal program(interface.program);
  const Decimal version(interface.version);
  switch (welcome.reason) {
    case ServerWelcome::Reason::kNone: break;
    case ServerWelcome::Reason::kFull:
      return refuse(EAGAIN,
                    "the server has as many clients as it takes: try again, or raise clients_max there");
    case ServerWelcome::Reason::kNoProgram:
      return refuse_in_words(EPROTONOSUPPORT, {"the server does not have the program ", program.text(), " (",
                                               interface.name, ")"});
    default:
      return refuse_in_words(EPROTONOSUPPORT,
                             {"the server has the program ", program.text(), ", but not its version ",
                              version.text(), " (", interface.name, ")"});
  }
  if (welcome.slots == 0 || welcome.longest < kInlineBytes) return no_server_of_rpc();
  slots_ = std::min({parameters_.slots, welcome.slots, kSlotsMax});
  longest_ = welcome.longest;
  const Status allocated = memory_.allocate(slots_);
  return allocated.ok() ? receive_next() : refuse(allocated.error(), "no memory for messages");
}

Status ClientBinding::take_verdicts(const exs_rpc_interface_t& interface) {
  CallHeader header;
  const auto message = link_->received();
  if (!get_header(message, header) || header.kind != CallMessage::kTable ||
      header.length != interface.procedures_count)
    return no_server_of_rpc();
  verdicts_.reserve(header.length);
  for (const std::byte one : message.subspan(kHeaderBytes))
    verdicts_.push_back(static_cast<ProcedureVerdict>(one));
  const EventsTo& to = parameters_.events_to;
  if (to.queue != EXS_QHANDLE_INVALID) link_->use_queue(to.queue, to.handle);
  return receive_next();
}

Status ClientBinding::receive_next() {
  const Status posted = link_->receive_next();
  return posted.ok() ? posted : refuse(posted.error(), "the connection broke");
}

Status ClientBinding::await_message(FrameType type, std::uint64_t end_ns) {
  for (;;) {
    exs_event_t event;
    const int count = wait({&event, 1}, wait_left(end_ns, monotonic_ns()));
    if (count < 0 && errno == EINTR) continue;
    if (count < 1) return refuse(ETIMEDOUT, "the server does not answer, or is none of exs-rpc");
    switch (link_->take_event(event)) {
      case MessageLink::News::kNothing: break;
      case MessageLink::News::kEnd: {
        const int error = link_->why_ended().error();
        return refuse_in_words(error,
                               {"the server, or who it is, ended the connection: ", std::strerror(error)});
      }
      case MessageLink::News::kMessage: return link_->type() == type ? Status() : no_server_of_rpc();
    }
  }
}

// Succeeds also if no window can be had: then messages carry everything.
Status ClientBinding::get_window(const ServerAddress& server, std::uint64_t end_ns) {
  std::array<char, 16> provider{};
  socklen_t length = provider.size();
  exs_getsockopt(link_->socket(), SOL_EXS, EXS_SO_PROVIDER, provider.data(), &length);
  if (std::strcmp(provider.data(), "shm") != 0) return {};
  const Result<std::uint64_t> token = ask_for_token(end_ns);
  if (!token) return token.error();
  if (*token == 0) return {};
  const Result<int> socket = begin_connect(server, queue_, wait_left(end_ns, monotonic_ns()));
  if (!socket) return {};
  WindowNews news = await_window(end_ns);
  if (news != WindowNews::kThere) close_socket(*socket);
  if (news == WindowNews::kThere) {
    window_ = ClientWindow::make(*socket, queue_, slots_, *token);
    if (window_ == nullptr) return {};
    news = await_window(end_ns);
    if (news != WindowNews::kThere) window_.reset();
  }
  return news == WindowNews::kConnectionEnded ? refuse(ECONNRESET, "the server ended the connection")
                                              : Status();
}

// Returns 0 if the server has none to give.
Result<std::uint64_t> ClientBinding::ask_for_token(std::uint64_t end_ns) {
  CallHeader header;
  header.kind = CallMessage::kWindow;
  if (const Status sent = link_->send_frame(FrameType::kMessage, bytes_of(header)); !sent.ok())
    return failure(refuse(sent.error(), "the connection broke"));
  if (const Status answer = await_message(FrameType::kMessage, end_ns); !answer.ok()) return failure(answer);
  const auto message = link_->received();
  std::uint64_t token = 0;
  if (!get_header(message, header) || header.kind != CallMessage::kWindow ||
      (header.length != 0 && !read_words(message.subspan(kHeaderBytes), token)))
    return failure(no_server_of_rpc());
  if (const Status posted = receive_next(); !posted.ok()) return failure(posted);
  return token;
}

// Waits for the window's connection, or for the server's bell, which tells that it is mapped.
ClientBinding::WindowNews ClientBinding::await_window(std::uint64_t end_ns) {
  for (;;) {
    exs_event_t event;
    const int count = wait_for_events({&event, 1}, wait_left(end_ns, monotonic_ns()));
    if (count < 0 && errno == EINTR) continue;
    if (count < 1) return WindowNews::kNotThere;
    if (event.exs_evt_socket != link_->socket()) {
      const bool is_there = event.exs_evt_errno == 0 && event.exs_evt_type != EXS_EVT_RECV;
      return is_there ? WindowNews::kThere : WindowNews::kNotThere;
    }
    if (link_->take_event(event) != MessageLink::News::kNothing) return WindowNews::kConnectionEnded;
  }
}

bool ClientBinding::look_at_window() {
  return window_->look(rounds_.load(std::memory_order_relaxed));
}

int ClientBinding::wait_for_either(std::span<exs_event_t> events, std::int64_t limit_ns) {
  if (limit_ns == 0) return window_->look(1) ? 0 : wait_for_events(events, 0);
  if (look_at_window()) return 0;
  const std::uint64_t start_ns = monotonic_ns();
  std::int64_t spent_ns = 0;
  for (; spent_ns < std::min(kSpinNs, limit_ns); spent_ns = wait_left(monotonic_ns(), start_ns)) {
    const int count = wait_for_events(events, 0);
    if (count != 0 || look_at_window()) return count;
  }
  if (spent_ns >= limit_ns) return 0;
  int count = 0;
  if (window_->begin_sleep()) count = wait_for_events(events, limit_ns - spent_ns);
  const int error = errno;
  window_->end_sleep();
  errno = error;
  return count;
}

}  // namespace exs::rpc
