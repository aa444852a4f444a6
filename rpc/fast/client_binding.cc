// SPDX-License-Identifier: BSD-2-Clause
#include "rpc/fast/client_binding.h"

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "rpc/channel/clock.h"
#include "rpc/channel/process.h"
#include "rpc/fast/error_text.h"

namespace exs::rpc {
namespace {

constexpr int kQueueDepth = 256;
// A window is watched this long before the client asks for the bell. The thread sees the bell without a sleep for a while longer.
constexpr std::int64_t kSpinNs = 20'000;

// Returns the socket, whose EXS_EVT_CONNECT goes to `queue`; -1 with errno.
int begin_connect(const ServerAddress& server, exs_qhandle_t queue, std::int64_t limit_ns) {
  const int socket = exs_socket(server.bytes.ss_family, SOCK_SEQPACKET, 0);
  if (socket < 0) return -1;
  constexpr std::size_t kSmall = kFrameBytes + kInlineBytes;
  const int connect_ms = static_cast<int>(std::clamp<std::int64_t>(limit_ns / 1'000'000, 1, INT32_MAX));
  exs_fcntl(socket, EXS_F_SET_SMALL_MAX, kSmall);
  exs_setsockopt(socket, SOL_EXS, EXS_SO_CONNECT_TIMEOUT_MS, &connect_ms, sizeof connect_ms);
  if (exs_connect(socket, reinterpret_cast<const sockaddr*>(&server.bytes), server.length, 0, queue,
                  nullptr) == 0)
    return socket;
  const int error = errno;
  exs_close(socket);
  errno = error;
  return -1;
}

}  // namespace

std::unique_ptr<ClientBinding> ClientBinding::make(const ServerAddress& server,
                                                   const exs_rpc_interface_t& interface,
                                                   const BindingWish& wish, std::int64_t limit_ns) {
  const std::int64_t end_ns = now_ns() + limit_ns;
  std::unique_ptr<ClientBinding> made(new ClientBinding(wish));
  if (!start_library()) {
    refuse(errno, "exs does not start: %s", std::strerror(errno));
    return nullptr;
  }
  const bool is_made = made->connect(server, limit_ns) == 0 && made->greet(interface, end_ns) == 0 &&
                       (!wish.window || made->get_window(server, end_ns) == 0);
  return is_made ? std::move(made) : nullptr;
}

ClientBinding::~ClientBinding() {
  window_.reset();
  link_.reset();
  if (queue_ != EXS_QHANDLE_INVALID) exs_qdelete(queue_);
}

int ClientBinding::connect(const ServerAddress& server, std::int64_t limit_ns) {
  queue_ = exs_qcreate(kQueueDepth);
  const int socket = queue_ == EXS_QHANDLE_INVALID ? -1 : begin_connect(server, queue_, limit_ns);
  if (socket < 0) return refuse(errno, "cannot connect: %s", exs_errtext());
  link_ = std::make_unique<Link>(socket, queue_, this);
  exs_event_t event{};
  while (exs_qwait(queue_, &event, 1, 1, -1) != 1)
    if (errno != EINTR) return refuse(errno, "cannot connect: %s", exs_errtext());
  if (event.exs_evt_errno == 0) return 0;
  char why[200] = "";
  socklen_t length = sizeof why - 1;
  exs_getsockopt(socket, SOL_EXS, EXS_SO_ERROR_TEXT, why, &length);
  return refuse(event.exs_evt_errno, "cannot connect: %s", why);
}

int ClientBinding::greet(const exs_rpc_interface_t& interface, std::int64_t end_ns) {
  Hello hello;
  hello.program = interface.program;
  hello.version = interface.version;
  const std::vector<TableEntry> table = table_of(interface);
  const std::size_t bytes = table.size() * sizeof(TableEntry);
  MessageBuffer message;
  if (!message.reserve(kHeaderBytes + bytes)) return refuse(ENOMEM, "no memory for a message");
  Header header;
  header.kind = Kind::kTable;
  header.length = static_cast<std::uint32_t>(bytes);
  put_header(header, message.message());
  if (bytes != 0) std::memcpy(message.message() + kHeaderBytes, table.data(), bytes);
  if (!link_->begin(wish_.longest) || !link_->send_frame(FrameType::kHello, bytes_of(hello)) ||
      !link_->send_copied(message, kHeaderBytes + bytes))
    return refuse(errno, "cannot greet the server: %s", exs_errtext());
  if (await_message(FrameType::kWelcome, end_ns) != 0 || take_welcome(interface) != 0) return -1;
  return await_message(FrameType::kMessage, end_ns) != 0 ? -1 : take_verdicts(interface);
}

int ClientBinding::take_welcome(const exs_rpc_interface_t& interface) {
  Welcome welcome;
  if (!read_words(link_->received(), welcome)) return refuse(EPROTO, "no server of exs-rpc answers there");
  switch (welcome.reason) {
    case Welcome::Reason::kNone: break;
    case Welcome::Reason::kFull:
      return refuse(EAGAIN,
                    "the server has as many clients as it takes: try again, or raise clients_max there");
    case Welcome::Reason::kNoProgram:
      return refuse(EPROTONOSUPPORT, "the server does not have the program %u (%s)", interface.program,
                    interface.name);
    default:
      return refuse(EPROTONOSUPPORT, "the server has the program %u, but not its version %u (%s)",
                    interface.program, interface.version, interface.name);
  }
  if (welcome.slots == 0 || welcome.longest < kInlineBytes)
    return refuse(EPROTO, "no server of exs-rpc answers there");
  slots_ = std::min({wish_.slots, welcome.slots, kSlotsMax});
  longest_ = welcome.longest;
  if (!memory_.allocate(slots_)) return refuse(errno, "no memory for messages");
  return link_->receive_next() ? 0 : refuse(errno, "the connection broke");
}

int ClientBinding::take_verdicts(const exs_rpc_interface_t& interface) {
  Header header;
  const auto message = link_->received();
  if (!get_header(message, header) || header.kind != Kind::kTable ||
      header.length != interface.procedures_count)
    return refuse(EPROTO, "no server of exs-rpc answers there");
  for (const std::byte one : message.subspan(kHeaderBytes)) verdicts_.push_back(static_cast<Verdict>(one));
  const EventsTo& to = wish_.events_to;
  if (to.queue != EXS_QHANDLE_INVALID) link_->use_queue(to.queue, to.handle);
  return link_->receive_next() ? 0 : refuse(errno, "the connection broke");
}

int ClientBinding::await_message(FrameType type, std::int64_t end_ns) {
  for (;;) {
    exs_event_t event;
    const int count = wait({&event, 1}, std::max<std::int64_t>(end_ns - now_ns(), 0));
    if (count < 0 && errno == EINTR) continue;
    if (count < 1) return refuse(ETIMEDOUT, "the server does not answer, or is none of exs-rpc");
    switch (link_->take(event)) {
      case Link::News::kNothing: break;
      case Link::News::kEnd:
        return refuse(link_->error(), "the server, or who it is, ended the connection: %s",
                      std::strerror(link_->error()));
      case Link::News::kMessage:
        return link_->type() == type ? 0 : refuse(EPROTO, "no server of exs-rpc answers there");
    }
  }
}

// Returns 0 also if no window can be had: then messages carry everything.
int ClientBinding::get_window(const ServerAddress& server, std::int64_t end_ns) {
  char provider[16] = "";
  socklen_t length = sizeof provider;
  exs_getsockopt(link_->socket(), SOL_EXS, EXS_SO_PROVIDER, provider, &length);
  if (std::strcmp(provider, "shm") != 0) return 0;
  std::uint64_t token = 0;
  if (ask_for_token(end_ns, token) != 0) return -1;
  if (token == 0) return 0;
  const int socket = begin_connect(server, queue_, end_ns - now_ns());
  if (socket < 0) return 0;
  bool is_there = false;
  const bool goes_on = await_window(end_ns, is_there);
  if (!is_there) exs_close(socket);
  if (!goes_on) return -1;
  if (!is_there) return 0;
  window_ = ClientWindow::make(socket, queue_, slots_, token);
  if (window_ == nullptr) return 0;
  if (!await_window(end_ns, is_there)) return -1;
  if (!is_there) window_.reset();
  return 0;
}

int ClientBinding::ask_for_token(std::int64_t end_ns, std::uint64_t& token) {
  Header header;
  header.kind = Kind::kWindow;
  if (!link_->send_frame(FrameType::kMessage, bytes_of(header))) return refuse(errno, "the connection broke");
  if (await_message(FrameType::kMessage, end_ns) != 0) return -1;
  const auto message = link_->received();
  if (!get_header(message, header) || header.kind != Kind::kWindow ||
      (header.length != 0 && !read_words(message.subspan(kHeaderBytes), token)))
    return refuse(EPROTO, "no server of exs-rpc answers there");
  return link_->receive_next() ? 0 : refuse(errno, "the connection broke");
}

// Waits for the window's connection, or for the server's word that it is mapped. Returns false if the client's own connection has ended.
bool ClientBinding::await_window(std::int64_t end_ns, bool& is_there) {
  is_there = false;
  for (;;) {
    exs_event_t event;
    const int count = wait_for_events({&event, 1}, std::max<std::int64_t>(end_ns - now_ns(), 0));
    if (count < 0 && errno == EINTR) continue;
    if (count < 1) return true;
    if (event.exs_evt_socket == link_->socket()) {
      if (link_->take(event) == Link::News::kNothing) continue;
      refuse(ECONNRESET, "the server ended the connection");
      return false;
    }
    is_there = event.exs_evt_errno == 0 && event.exs_evt_type != EXS_EVT_RECV;
    return true;
  }
}

bool ClientBinding::look_at_window() {
  return window_->look(rounds_.load(std::memory_order_relaxed));
}

int ClientBinding::wait_for_either(std::span<exs_event_t> events, std::int64_t limit_ns) {
  if (limit_ns == 0) return window_->look(1) ? 0 : wait_for_events(events, 0);
  if (look_at_window()) return 0;
  const std::int64_t start_ns = now_ns();
  std::int64_t spent_ns = 0;
  for (; spent_ns < std::min(kSpinNs, limit_ns); spent_ns = now_ns() - start_ns) {
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
