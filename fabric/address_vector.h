// The addresses of peers: names of exm_name(3), by number.
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include <rdma/fi_domain.h>

#include "base/drive_lock.h"
#include "base/status.h"
#include "exs/msg.h"
#include "fabric/event_queue.h"
#include "fabric/fid.h"

namespace exs::fabric {

class Endpoint;

using Name = std::array<std::byte, EXM_NAME_BYTES>;

// Thread: any.
class AddressVector final : public Object<AddressVector, fid_av> {
 public:
  // `has_events`: insertions report to the bound event queue.
  AddressVector(bool has_events, void* context);

  void bind(EventQueue& queue) noexcept { events_ = &queue; }
  [[nodiscard]] bool has_events() const noexcept { return has_events_; }
  [[nodiscard]] EventQueue* events() const noexcept { return events_; }

  // The endpoint learns all names: those that are there, and later ones. After an error the caller removes it.
  Status add(Endpoint& endpoint);
  void remove(Endpoint& endpoint) noexcept;
  [[nodiscard]] bool is_used() noexcept;

  // EINVAL: the name is invalid. After an error no endpoint knows the address.
  Result<fi_addr_t> insert(const Name& name);
  // Returns false if there is no such address.
  bool erase(fi_addr_t address);
  bool find(fi_addr_t address, Name& into);

 private:
  struct KnownName {
    Name name{};
    bool is_valid = false;
  };

  const bool has_events_;
  EventQueue* events_ = nullptr;
  Mutex mutex_;
  std::vector<KnownName> names_ EXS_GUARDED_BY(mutex_);  // by address
  std::vector<Endpoint*> endpoints_ EXS_GUARDED_BY(mutex_);
};

int open_address_vector(fid_domain* domain, fi_av_attr* attr, fid_av** vector, void* context);

}  // namespace exs::fabric
