// Plays a script in two worlds, with a model of their state. Thread: the controller's only one.
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "tests/sockets/twin/both.h"
#include "tests/sockets/twin/model.h"
#include "tests/sockets/twin/step.h"

namespace twin {

// A connection of the layered world may hold no more than this in transit, because its buffers are smaller.
inline constexpr std::uint64_t kRoomBytes = 8000;

class Stage {
 public:
  Stage(const std::array<std::vector<std::string>, kWorlds>& environments, Counts& counts);

  // False: the step means nothing here, and no call was made. Throws Difference.
  bool perform(const Step& step);
  [[nodiscard]] std::string story(std::size_t lines) const { return both_.story(lines); }

 private:
  // The step's descriptor for one end of its connection.
  struct Place {
    std::size_t process;
    std::size_t index;
    std::size_t end;
    int fd;
  };

  // Perform a step of one kind. False as for perform().
  bool io(const Step& step);
  bool wait(const Step& step);
  bool life(const Step& step);
  bool state(const Step& step);
  bool processes(const Step& step);

  bool warm_up(const Step& step);
  bool send(const Step& step, bool is_more);
  bool recv(const Step& step, int flags);
  bool transfer(const Step& step);
  // Starts a thread that sends. Returns the number of bytes, which then count as in transit.
  std::int64_t start_sending(const Step& step, const Place& place);
  void join_sending(const Place& place, std::int64_t length);
  bool fill(const Step& step);
  bool send_file(const Step& step, Op op);
  bool splice_out(const Step& step);
  bool stdio_write(const Step& step);
  bool stdio_read(const Step& step);
  bool urgent_send(const Step& step);
  bool urgent_recv(const Step& step);
  bool bad(const Step& step);
  bool cork(const Step& step);

  bool poll(const Step& step);
  bool blocked(const Step& step);
  // Starts a thread in a call that sleeps. Returns the call's commands.
  Commands start_blocked(const Step& step, const Place& place, int set);
  int set_of_one(const Place& place, std::uint32_t events);
  void interrupt(const Place& place);
  // Makes the peer send or end.
  void wake(const Step& step, const Place& place);
  bool timeout(const Step& step);
  bool epoll_create(const Step& step);
  bool epoll_ctl(const Step& step);
  bool epoll_wait(const Step& step);

  bool connect(const Step& step);
  bool accept(const Step& step);
  bool close(const Step& step);
  bool shutdown(const Step& step);
  bool dup(const Step& step);

  bool option(const Step& step);
  bool inquire(const Step& step);
  bool nonblock(const Step& step);
  bool names(const Step& step);

  bool fork(const Step& step, Op op);
  bool exec(const Step& step);
  bool pass(const Step& step);
  bool leave(const Step& step);
  bool kill(const Step& step);

  [[nodiscard]] std::optional<Place> place_of(const Step& step, std::uint32_t choice) const;
  [[nodiscard]] std::optional<Place> peer_of(const Place& place) const;
  Connection& connection_at(const Place& place) { return model_.connections[place.index]; }
  End& end_at(const Place& place) { return connection_at(place).ends[place.end]; }
  // The bytes to this end, and those from it.
  Stream& stream_to(const Place& place) { return connection_at(place).to[place.end]; }
  Stream& stream_from(const Place& place) { return connection_at(place).to[1 - place.end]; }
  // A receive returns although no more bytes arrive.
  [[nodiscard]] bool is_over(const Place& place) const;
  // At least `count` bytes arrive without further calls.
  [[nodiscard]] bool will_receive(const Place& place, std::uint64_t count) const;
  [[nodiscard]] bool is_quiet(const Place& place) const;  // no byte is due and the stream is not over
  [[nodiscard]] bool has_room(const Place& place, std::uint64_t count) const;
  // Both ends are held, with no end and no urgent byte.
  [[nodiscard]] bool can_move(const Place& place) const;

  // Adds the stream and each world's position.
  Commands sending(const Place& place, const Command& command);
  Commands receiving(const Place& place, const Command& command);
  void note_sent(const Place& place, const Answers& answers);
  void note_received(const Place& place, const Answers& answers);
  // Sends the bytes of one call, no more than fit; `command` selects the call.
  void send_same(const Place& place, const Command& command);
  void drain_all(const Place& place);

  void add(std::size_t process, int fd, const Handle& handle) {
    model_.processes[process].handles[fd] = handle;
  }
  void forget(std::size_t process, int fd);
  void forget_all(std::size_t process, bool only_cloexec);
  void on_end_closed(std::size_t index, std::size_t end);
  void end_process(std::size_t process, const Step& step);

  Both both_;
  Model model_;
};

}  // namespace twin
