// A file with names of services and their places. Each line has a name, an ID, and the addresses with ports if the service is on another
// host. Its places are not trusted: a service proves itself. Thread: any.
// SPDX-License-Identifier: BSD-2-Clause
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
  // The file is read for each question, as it may have changed. Unreadable files and invalid lines are skipped.
  explicit NamesFile(std::string path) : path_(std::move(path)) {}
  // The file of EXS_SERVICES, else that of the host.
  static std::string default_path();

  [[nodiscard]] std::optional<IdBytes> id_of(std::string_view name) const;
  // Returns nothing if the file has no address of the service.
  [[nodiscard]] std::vector<sockaddr_storage> addresses_of(const IdBytes& id) const;

 private:
  std::string path_;
};

}  // namespace exs::svc
