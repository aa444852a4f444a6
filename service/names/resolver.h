// A way to find services beyond this host, and to be found. All resolvers run in the name thread.
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <string>

#include "base/clock.h"
#include "service/names/record.h"

namespace exs::svc {

// The record that a service publishes, and the key that signs it.
struct Publication {
  Key key;
  Record record;
  bool is_fenced = false;  // it serves only while a directory grants a lease
};

// Returns the record with or without loopback addresses. Returns nothing if no address remains.
std::vector<std::uint8_t> encode_publication(const Publication& place, bool with_loopback);

class Resolver;

// Receives the results of a resolver. Its functions are called in step() alone, and may call the resolver.
class ResolverClient {
 public:
  virtual void found(const Resolver& by, const IdBytes& id, const Record& record) = 0;
  // overtaken(): another process is this service, by a newer record. outdated(): nobody else is, but a newer record exists.
  virtual void overtaken(const IdBytes& id, const Record& newer) = 0;
  virtual void outdated(const IdBytes& id, const Record& newer) = 0;
  // Until then no other process is this service of ours.
  virtual void held(const IdBytes& /*id*/, std::uint64_t /*until_ns*/) {}

 protected:
  ~ResolverClient() = default;
};

// Thread: one at a time.
class Resolver {
 public:
  virtual ~Resolver() = default;
  // Publishes the place of a service until unclaim(). A second claim replaces the place.
  virtual void claim(const IdBytes& id, const Publication& place, std::uint64_t now) = 0;
  virtual void unclaim(const IdBytes& id) = 0;
  // The name of the resolver in the log.
  [[nodiscard]] virtual std::string name() const = 0;
  // Asks once. A later answer still counts, unless many other services have been asked for since.
  virtual void ask(const IdBytes& id, std::uint64_t now) = 0;
  // Does all that is due, and reads what has arrived.
  virtual void step(std::uint64_t now) = 0;
  // The descriptor is readable when there is something to read.
  [[nodiscard]] virtual int descriptor() const = 0;
  // The next time that something is due.
  [[nodiscard]] virtual std::uint64_t next_time() const = 0;
};

}  // namespace exs::svc
