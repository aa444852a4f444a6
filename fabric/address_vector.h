// The addresses of peers: names of exm_name(3), by number.
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <unordered_map>
#include <vector>

#include <rdma/fi_domain.h>

#include "exs/msg.h"
#include "fabric/event_queue.h"
#include "fabric/fid.h"

namespace exs::fabric {

class Endpoint;

using Name = std::array<std::byte, EXM_NAME_BYTES>;

// Thread: any.
class AddressVector final : public Object<AddressVector, fid_av> {
 public:
  // `is_told`: insertions report to the bound event queue.
  AddressVector(bool is_told, void* context);

  void bind(EventQueue& queue) noexcept { events_ = &queue; }
  [[nodiscard]] bool is_told() const noexcept { return is_told_; }
  [[nodiscard]] EventQueue* events() const noexcept { return events_; }

  // The endpoint learns all names: those that are there, and later ones.
  void add(Endpoint& endpoint);
  void remove(Endpoint& endpoint) noexcept;
  [[nodiscard]] bool is_used() noexcept;

  // Returns FI_ADDR_NOTAVAIL if the name is invalid.
  fi_addr_t insert(const Name& name);
  // Returns false if there is no such address.
  bool erase(fi_addr_t address);
  bool find(fi_addr_t address, Name& into);

 private:
  struct Place {
    Name name{};
    bool is_taken = false;
  };

  const bool is_told_;
  EventQueue* events_ = nullptr;
  std::mutex mutex_;
  std::vector<Place> places_;
  std::vector<Endpoint*> endpoints_;
};

int open_address_vector(fid_domain* domain, fi_av_attr* attr, fid_av** vector, void* context);

}  // namespace exs::fabric
