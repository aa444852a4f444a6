// A way to find services beyond this host, and to be found. The housekeeper has its resolvers do their work in its thread.
#pragma once

#include <string>

#include "service/names/clock.h"
#include "service/names/record.h"

namespace exs::svc {

// What a service says of itself, and with what it says so.
struct Place {
  Key key;
  Record record;
  bool is_fenced = false;  // it serves only while a directory says so
};

// Its record for those who reach loopback, or for others: without addresses, nothing.
std::vector<std::uint8_t> encode_place(const Place& place, bool with_loopback);

class Resolver;

// What a resolver tells. It is called back in step() alone, and may be called in turn.
class ResolverClient {
 public:
  virtual void found(const Resolver& by, const IdBytes& id, const Record& record) = 0;
  // Somebody else is this service of ours, by a newer record; or nobody is, but a newer record is known.
  virtual void overtaken(const IdBytes& id, const Record& newer) = 0;
  virtual void outdated(const IdBytes& id, const Record& newer) = 0;
  // Nobody else is this service of ours until then.
  virtual void held(const IdBytes& /*id*/, std::int64_t /*until_ns*/) {}

 protected:
  ~ResolverClient() = default;
};

// Thread: one at a time.
class Resolver {
 public:
  virtual ~Resolver() = default;
  // Says where a service is, until unclaim(). One that is claimed already is from now on where it is now.
  virtual void claim(const IdBytes& id, const Place& place, std::int64_t now) = 0;
  virtual void unclaim(const IdBytes& id) = 0;
  // For people.
  [[nodiscard]] virtual std::string name() const = 0;
  // Asks, once. An answer may come until another service is asked for very often.
  virtual void ask(const IdBytes& id, std::int64_t now) = 0;
  // Does what is due, and what there is to be read.
  virtual void step(std::int64_t now) = 0;
  // Readable when there is something to be read.
  [[nodiscard]] virtual int descriptor() const = 0;
  // When something is due.
  [[nodiscard]] virtual std::int64_t next_time() const = 0;
};

}  // namespace exs::svc
