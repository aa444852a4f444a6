#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <optional>
#include <system_error>

#include "tools/common/failure.h"
#include "tools/common/pattern.h"
#include "tools/crowd/crowd.h"

namespace crowd {
namespace {

// Of all processes together: what a listener lets wait, so that no connect is turned away and tried again.
constexpr std::uint32_t kConnectingMax = 128;
constexpr std::uint32_t kBuffersEach = 2;  // one to send from, one to receive into

// Both ends of the wire are this program, in two processes.
struct Order {
  CrowdStep step = CrowdStep::connect;
  std::uint16_t port = 0;
  std::uint32_t connections = 0;
};
struct Answer {
  std::uint64_t faults = 0;  // so far
  std::array<char, 160> first_fault{};
};

class Clients {
 public:
  Clients(const CrowdSettings& settings, std::uint32_t connections)
      : settings_(settings),
        queue_(static_cast<int>(kBuffersEach * connections + kEventBatch)),
        slots_(settings.size_bytes, std::size_t{kBuffersEach} * connections, tools::MemoryKind::plain),
        connections_(connections) {}

  void connect(std::uint16_t port, std::uint32_t count);
  void exchange();
  void close();
  [[nodiscard]] Answer answer() const;

 private:
  struct Connection {
    exs::cpp::Socket socket;
    std::uint32_t sent = 0;
    std::uint32_t received = 0;
  };

  void begin(Connection& connection);
  void start_pair(Connection& connection);
  void transferred(Connection& connection, const exs_event_t& event);
  bool is_right(const Connection& connection, const exs_event_t& event) const;
  // Gives the connection up; events of it that are still to come are passed over.
  void give_up(Connection& connection, const std::string& what, int error);
  [[nodiscard]] std::span<std::byte> buffer(const Connection& connection, bool incoming) const {
    return slots_.slot(static_cast<std::uint64_t>(&connection - connections_.data()) * kBuffersEach +
                       (incoming ? 1 : 0));
  }
  [[nodiscard]] std::uint64_t message_number(const Connection& connection) const {
    return static_cast<std::uint64_t>(connection.socket.number()) * settings_.pairs + connection.received;
  }
  std::span<const exs_event_t> take();

  const CrowdSettings& settings_;
  exs::cpp::Queue queue_;
  tools::Slots slots_;
  std::vector<Connection> connections_;
  std::array<exs_event_t, kEventBatch> events_;
  exs::cpp::Address server_;
  std::uint32_t busy_ = 0;  // connections that have not finished the step
  CrowdFaults faults_;
};

std::span<const exs_event_t> Clients::take() {
  const std::span<const exs_event_t> taken = crowd::take(queue_, events_, kCrowdPatienceNs);
  if (taken.empty()) throw tools::Failure("nothing came from the server for 30 s");
  return taken;
}

void Clients::connect(std::uint16_t port, std::uint32_t count) {
  server_ = exs::cpp::Address(settings_.address, port);
  busy_ = 0;
  for (std::uint32_t begun = 0; begun < count || busy_ > 0;) {
    while (begun < count && busy_ < kConnectingMax / settings_.processes) begin(connections_[begun++]);
    if (busy_ == 0) continue;
    for (const exs_event_t& event : take()) {
      auto& connection = *static_cast<Connection*>(event.exs_evt_ahandle);
      if (connection.socket.number() != event.exs_evt_socket) continue;
      if (event.exs_evt_errno != 0) {
        give_up(connection, "exs_connect", event.exs_evt_errno);
      } else {
        --busy_;
      }
    }
  }
}

void Clients::begin(Connection& connection) {
  ++busy_;
  std::string step = "exs_socket";
  try {
    connection.socket = exs::cpp::Socket::create();
    step = "provider " + settings_.provider;
    connection.socket.set_text_option(EXS_SO_PROVIDER, settings_.provider);
    step = "exs_connect";
    const std::error_code refused = connection.socket.connect(server_, {queue_.handle(), &connection});
    if (refused) throw std::system_error(refused);
  } catch (const std::system_error& error) {
    give_up(connection, step, error.code().value());
  }
}

void Clients::give_up(Connection& connection, const std::string& what, int error) {
  faults_.note(what, error);
  if (connection.socket.is_open()) connection.socket.close();
  --busy_;
}

void Clients::exchange() {
  busy_ = 0;
  for (Connection& connection : connections_) {
    if (!connection.socket.is_open()) continue;
    ++busy_;
    connection.sent = connection.received = 0;
    start_pair(connection);
  }
  while (busy_ > 0) {
    for (const exs_event_t& event : take()) {
      auto& connection = *static_cast<Connection*>(event.exs_evt_ahandle);
      if (connection.socket.number() == event.exs_evt_socket) transferred(connection, event);
    }
  }
}

void Clients::start_pair(Connection& connection) {
  const std::span<std::byte> request = buffer(connection, false);
  const std::span<std::byte> room = buffer(connection, true);
  tools::fill_pattern(request, message_number(connection));
  if (settings_.flip && &connection == connections_.data() && connection.received == 0)
    request.front() ^= std::byte{1};
  const exs::cpp::Socket::Target target{queue_.handle(), &connection};
  if (const std::error_code error = connection.socket.recv(room, target, slots_.region())) {
    give_up(connection, "exs_recv", error.value());
  } else if (const std::error_code refused = connection.socket.send(request, target, slots_.region())) {
    give_up(connection, "exs_send", refused.value());
  }
}

void Clients::transferred(Connection& connection, const exs_event_t& event) {
  const bool ended = (event.exs_evt_flags & EXS_EVF_EOF) != 0;
  if (event.exs_evt_errno != 0 || ended) {
    give_up(connection, exs_evtname(event.exs_evt_type), ended ? ECONNRESET : event.exs_evt_errno);
    return;
  }
  if (event.exs_evt_type == EXS_EVT_SEND) {
    ++connection.sent;
  } else if (is_right(connection, event)) {
    ++connection.received;
  } else {
    give_up(connection, "a response is damaged", EBADMSG);
    return;
  }
  if (connection.sent != connection.received) return;  // the other half of the pair is to come
  if (connection.received == settings_.pairs) {
    --busy_;
  } else {
    start_pair(connection);
  }
}

bool Clients::is_right(const Connection& connection, const exs_event_t& event) const {
  const exs_evt_xfer_t& transfer = event.exs_evt_union.exs_evt_xfer;
  const std::span message(static_cast<const std::byte*>(transfer.exs_evt_buf), transfer.exs_evt_length);
  return message.size() == settings_.size_bytes && (event.exs_evt_flags & EXS_EVF_TRUNC) == 0 &&
         !tools::first_wrong_byte(message, message_number(connection));
}

void Clients::close() {
  for (Connection& connection : connections_) {
    if (!connection.socket.is_open()) continue;
    if (const std::error_code error = connection.socket.close()) faults_.note("exs_close", error.value());
  }
}

Answer Clients::answer() const {
  Answer answer;
  answer.faults = faults_.count;
  std::strncpy(answer.first_fault.data(), faults_.first.c_str(), answer.first_fault.size() - 1);
  return answer;
}

// The body of a client process.
int carry_out(const CrowdSettings& settings, int orders) {
  // Ctrl-C goes to the whole group; the server ends and takes this process with it.
  std::signal(SIGINT, SIG_IGN);
  const exs::cpp::Library library;
  std::optional<Clients> clients;
  Order order;
  while (::recv(orders, &order, sizeof order, 0) == sizeof order) {
    switch (order.step) {
      case CrowdStep::connect:
        if (!clients) clients.emplace(settings, settings.connections / settings.processes + 1);
        clients->connect(order.port, order.connections);
        break;
      case CrowdStep::exchange: clients->exchange(); break;
      case CrowdStep::close: clients->close(); break;
    }
    const Answer answer = clients->answer();
    if (::send(orders, &answer, sizeof answer, MSG_NOSIGNAL) != sizeof answer) return 1;
  }
  return 1;
}

}  // namespace

CrowdClients::CrowdClients(const CrowdSettings& settings) {
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0) tools::fail("socketpair", errno);
  twin_ = std::make_unique<tools::Twin>([&] {
    ::close(ends[0]);
    try {
      return carry_out(settings, ends[1]);
    } catch (const std::exception& error) {
      std::fprintf(stderr, "exs-crowd: a client process: %s\n", error.what());
      return 1;
    }
  });
  ::close(ends[1]);
  orders_ = ends[0];
}

CrowdClients::~CrowdClients() {
  ::close(orders_);
}

void CrowdClients::order(CrowdStep step, std::uint16_t port, std::uint32_t connections) {
  const Order order{step, port, connections};
  if (::send(orders_, &order, sizeof order, MSG_NOSIGNAL) != sizeof order)
    throw tools::Failure("a client process has ended");
  waiting_ = true;
}

bool CrowdClients::has_answered() {
  if (!waiting_) return true;
  Answer answer;
  const ssize_t bytes = ::recv(orders_, &answer, sizeof answer, MSG_DONTWAIT);
  if (bytes == -1 && (errno == EAGAIN || errno == EINTR)) return false;
  if (bytes != sizeof answer) throw tools::Failure("a client process has ended");
  faults_ = {answer.faults, answer.first_fault.data()};
  waiting_ = false;
  return true;
}

}  // namespace crowd
