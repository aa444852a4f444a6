// A file where somebody has written down names of services, and where they are: each line has a name, an ID, and addresses with ports,
// if their hosts are others. What it says of places is not trusted: a service proves itself. Thread: any.
#pragma once

#include <sys/socket.h>

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "service/names/id.h"

namespace exs::svc {

class NamesFile {
 public:
  // Read anew by each question, as it may have changed. One that cannot be read says nothing; nor does a line that is wrong.
  explicit NamesFile(std::string path) : path_(std::move(path)) {}
  // That of EXS_SERVICES, or of the host.
  static std::string default_path();

  [[nodiscard]] std::optional<IdBytes> id_of(std::string_view name) const;
  // None: it says nothing of it.
  [[nodiscard]] std::vector<sockaddr_storage> addresses_of(const IdBytes& id) const;

 private:
  std::string path_;
};

}  // namespace exs::svc
