#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <optional>

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
        queue_(static_cast<int>(kBuffersEach * connections + perf::kEventBatch), perf::Wait::adaptive),
        slots_(settings.size_bytes, std::size_t{kBuffersEach} * connections, perf::MemoryKind::plain),
        connections_(connections) {}

  void connect(std::uint16_t port, std::uint32_t count);
  void exchange();
  void close();
  [[nodiscard]] Answer answer() const;

 private:
  struct Connection {
    int socket = -1;
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
    return static_cast<std::uint64_t>(connection.socket) * settings_.pairs + connection.received;
  }
  std::span<const exs_event_t> take();

  const CrowdSettings& settings_;
  perf::Queue queue_;
  perf::Slots slots_;
  std::vector<Connection> connections_;
  std::array<exs_event_t, perf::kEventBatch> events_;
  sockaddr_in server_{};
  std::uint32_t busy_ = 0;  // connections that have not finished the step
  CrowdFaults faults_;
};

std::span<const exs_event_t> Clients::take() {
  const std::size_t taken = queue_.take(events_, kCrowdPatienceNs);
  if (taken == 0) throw tools::Failure("nothing came from the server for 30 s");
  return {events_.data(), taken};
}

void Clients::connect(std::uint16_t port, std::uint32_t count) {
  server_.sin_family = AF_INET;
  server_.sin_port = htons(port);
  inet_pton(AF_INET, settings_.address.c_str(), &server_.sin_addr);  // checked by the command line
  busy_ = 0;
  for (std::uint32_t begun = 0; begun < count || busy_ > 0;) {
    while (begun < count && busy_ < kConnectingMax / settings_.processes) begin(connections_[begun++]);
    if (busy_ == 0) continue;
    for (const exs_event_t& event : take()) {
      auto& connection = *static_cast<Connection*>(event.exs_evt_ahandle);
      if (connection.socket != event.exs_evt_socket) continue;
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
  connection.socket = exs_socket(AF_INET, SOCK_SEQPACKET, 0);
  if (connection.socket == -1) {
    give_up(connection, "exs_socket", errno);
  } else if (exs_setsockopt(connection.socket, SOL_EXS, EXS_SO_PROVIDER, settings_.provider.data(),
                            static_cast<socklen_t>(settings_.provider.size())) == -1) {
    give_up(connection, "provider " + settings_.provider, errno);
  } else if (exs_connect(connection.socket, reinterpret_cast<const sockaddr*>(&server_), sizeof server_, 0,
                         queue_.handle(), &connection) == -1) {
    give_up(connection, "exs_connect", errno);
  }
}

void Clients::give_up(Connection& connection, const std::string& what, int error) {
  faults_.note(what, error);
  if (connection.socket != -1) exs_close(connection.socket);
  connection.socket = -1;
  --busy_;
}

void Clients::exchange() {
  busy_ = 0;
  for (Connection& connection : connections_) {
    if (connection.socket == -1) continue;
    ++busy_;
    connection.sent = connection.received = 0;
    start_pair(connection);
  }
  while (busy_ > 0) {
    for (const exs_event_t& event : take()) {
      auto& connection = *static_cast<Connection*>(event.exs_evt_ahandle);
      if (connection.socket == event.exs_evt_socket) transferred(connection, event);
    }
  }
}

void Clients::start_pair(Connection& connection) {
  const std::span<std::byte> request = buffer(connection, false);
  const std::span<std::byte> room = buffer(connection, true);
  tools::fill_pattern(request, message_number(connection));
  if (settings_.flip && &connection == connections_.data() && connection.received == 0)
    request.front() ^= std::byte{1};
  if (exs_recv(connection.socket, room.data(), room.size(), 0, queue_.handle(), &connection,
               slots_.region()) == -1) {
    give_up(connection, "exs_recv", errno);
  } else if (exs_send(connection.socket, request.data(), request.size(), 0, queue_.handle(), &connection,
                      slots_.region()) == -1) {
    give_up(connection, "exs_send", errno);
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
  const std::span<const std::byte> message = perf::received(event);
  return message.size() == settings_.size_bytes && (event.exs_evt_flags & EXS_EVF_TRUNC) == 0 &&
         !tools::first_wrong_byte(message, message_number(connection));
}

void Clients::close() {
  for (Connection& connection : connections_) {
    if (connection.socket == -1) continue;
    if (exs_close(connection.socket) == -1) faults_.note("exs_close", errno);
    connection.socket = -1;
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
  const perf::Library library;
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
