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

}  // namespace

std::unique_ptr<ClientBinding> ClientBinding::make(const ServerAddress& server,
                                                   const exs_rpc_interface_t& interface, std::uint32_t slots,
                                                   std::uint32_t longest, std::int64_t limit_ns,
                                                   const EventsTo& events_to) {
  const std::int64_t end_ns = now_ns() + limit_ns;
  std::unique_ptr<ClientBinding> made(new ClientBinding(events_to));
  if (!start_library()) {
    refuse(errno, "exs does not start: %s", std::strerror(errno));
    return nullptr;
  }
  if (made->connect(server, limit_ns) != 0 || made->greet(interface, slots, longest, end_ns) != 0)
    return nullptr;
  return made;
}

ClientBinding::~ClientBinding() {
  link_.reset();
  if (queue_ != EXS_QHANDLE_INVALID) exs_qdelete(queue_);
}

int ClientBinding::connect(const ServerAddress& server, std::int64_t limit_ns) {
  queue_ = exs_qcreate(kQueueDepth);
  const int socket =
      queue_ == EXS_QHANDLE_INVALID ? -1 : exs_socket(server.bytes.ss_family, SOCK_SEQPACKET, 0);
  if (socket < 0) return refuse(errno, "no socket: %s", exs_errtext());
  link_ = std::make_unique<Link>(socket, queue_, this);
  constexpr std::size_t kSmall = kFrameBytes + kInlineBytes;
  const int connect_ms = static_cast<int>(std::clamp<std::int64_t>(limit_ns / 1'000'000, 1, INT32_MAX));
  exs_fcntl(socket, EXS_F_SET_SMALL_MAX, kSmall);
  exs_setsockopt(socket, SOL_EXS, EXS_SO_CONNECT_TIMEOUT_MS, &connect_ms, sizeof connect_ms);
  exs_event_t event{};
  if (exs_connect(socket, reinterpret_cast<const sockaddr*>(&server.bytes), server.length, 0, queue_, this) !=
      0)
    return refuse(errno, "cannot connect: %s", exs_errtext());
  while (exs_qwait(queue_, &event, 1, 1, -1) != 1)
    if (errno != EINTR) return refuse(errno, "cannot connect: %s", exs_errtext());
  if (event.exs_evt_errno == 0) return 0;
  char why[200] = "";
  socklen_t length = sizeof why - 1;
  exs_getsockopt(socket, SOL_EXS, EXS_SO_ERROR_TEXT, why, &length);
  return refuse(event.exs_evt_errno, "cannot connect: %s", why);
}

int ClientBinding::greet(const exs_rpc_interface_t& interface, std::uint32_t slots, std::uint32_t longest,
                         std::int64_t end_ns) {
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
  if (!link_->begin(longest) || !link_->send_frame(FrameType::kHello, bytes_of(hello)) ||
      !link_->send_copied(message, kHeaderBytes + bytes))
    return refuse(errno, "cannot greet the server: %s", exs_errtext());
  if (await_message(FrameType::kWelcome, end_ns) != 0 || take_welcome(interface, slots) != 0) return -1;
  return await_message(FrameType::kMessage, end_ns) != 0 ? -1 : take_verdicts(interface);
}

int ClientBinding::take_welcome(const exs_rpc_interface_t& interface, std::uint32_t slots) {
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
  slots_ = std::min({slots, welcome.slots, kSlotsMax});
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
  if (events_to_.queue != EXS_QHANDLE_INVALID) link_->use_queue(events_to_.queue, events_to_.handle);
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

}  // namespace exs::rpc
