// Requests to an HTTP service: bindings/java/jetty/FORMAT.md.
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <exs/service.h>

#include <cstddef>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "tools/fetch/body.h"
#include "tools/fetch/connection.h"

namespace fetch {

class ServicePeer final : public Connection {
 public:
  // Throws Failure, or Broken if another try may help.
  ServicePeer(const std::string& name, Way way);
  ~ServicePeer() override;

  const Answer& get(const Url& url) override;
  [[nodiscard]] bool is_open() const override { return true; }
  [[nodiscard]] std::string provider() const override { return way_.provider; }

 private:
  using Lengths = std::vector<std::size_t>;

  // Returns false if there is no room for the answer.
  bool ask(const Url& url, const Lengths& expected);
  void take(const exs_svc_event_t& event);
  // Returns the number of long items that are not of the body.
  std::size_t begin_answer(const exs_svc_message_t& part);
  void add(const exs_svc_item_t& piece);
  std::vector<exs_iovec_t> places_for(const Lengths& expected);
  exs_iovec_t room(std::size_t place, std::size_t length);
  void release();

  const Way way_;
  exs_svc_node_t* node_ = nullptr;
  exs_svc_peer_t* peer_ = nullptr;
  Answer answer_;
  std::vector<const exs_svc_message_t*> parts_;  // they hold the answer, as far as it is not in places
  Lengths lengths_;                              // of all its long items
  // The lengths of the last answer for each path: the next one is likely to be equal, and gets memory in advance.
  std::map<std::string, Lengths> known_;
  struct Place;
  std::vector<std::unique_ptr<Place>> places_;
};

}  // namespace fetch
