// SPDX-License-Identifier: BSD-2-Clause
#include "fabric/address_vector.h"

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <new>
#include <string>

#include "fabric/endpoint.h"

namespace exs::fabric {
namespace {

extern fi_ops vector_fid_ops;
extern fi_ops_av vector_ops;

}  // namespace

AddressVector::AddressVector(bool has_events, void* context)
    : Object(FI_CLASS_AV, vector_fid_ops, context), has_events_(has_events) {
  handle()->ops = &vector_ops;
}

Status AddressVector::add(Endpoint& endpoint) {
  const LockGuard guard(mutex_);
  endpoints_.push_back(&endpoint);
  for (fi_addr_t address = 0; address < names_.size(); ++address) {
    if (!names_[address].is_valid) continue;
    if (const Status learned = endpoint.learn(address, names_[address].name); !learned.ok()) return learned;
  }
  return {};
}

void AddressVector::remove(Endpoint& endpoint) noexcept {
  const LockGuard guard(mutex_);
  std::erase(endpoints_, &endpoint);
}

bool AddressVector::is_used() noexcept {
  const LockGuard guard(mutex_);
  return !endpoints_.empty();
}

Result<fi_addr_t> AddressVector::insert(const Name& name) {
  const LockGuard guard(mutex_);
  const fi_addr_t address = names_.size();
  names_.push_back({name, true});
  for (Endpoint* const endpoint : endpoints_) {
    const Status learned = endpoint->learn(address, name);
    if (learned.ok()) continue;
    names_.pop_back();
    for (Endpoint* const other : endpoints_) other->forget(address);
    return failure(learned);
  }
  return address;
}

bool AddressVector::erase(fi_addr_t address) {
  const LockGuard guard(mutex_);
  if (address >= names_.size() || !names_[address].is_valid) return false;
  names_[address].is_valid = false;
  for (Endpoint* const endpoint : endpoints_) endpoint->forget(address);
  return true;
}

bool AddressVector::find(fi_addr_t address, Name& into) {
  const LockGuard guard(mutex_);
  if (address >= names_.size() || !names_[address].is_valid) return false;
  into = names_[address].name;
  return true;
}

namespace {

constexpr std::uint64_t kInsertFlags = FI_MORE | FI_SYNC_ERR;

// The error of one name.
int insert_name(AddressVector& self, const std::byte* bytes, fi_addr_t& address) {
  address = FI_ADDR_NOTAVAIL;
  try {
    Name name;
    std::memcpy(name.data(), bytes, sizeof name);
    const Result<fi_addr_t> inserted = self.insert(name);
    if (!inserted) return inserted.error().error();
    address = *inserted;
    return 0;
  } catch (const std::bad_alloc&) {
    return FI_ENOMEM;
  }
}

int insert_names(fid_av* vector, const void* names, std::size_t count, fi_addr_t* addresses,
                 std::uint64_t flags, void* context) {
  return guarded([&]() -> int {
    AddressVector& self = AddressVector::of(vector);
    if ((flags & ~kInsertFlags) != 0) return -FI_EBADFLAGS;
    if (names == nullptr && count > 0) return -FI_EINVAL;
    if (self.has_events() && self.events() == nullptr) return -FI_ENOEQ;
    auto* const errors = (flags & FI_SYNC_ERR) != 0 ? static_cast<int*>(context) : nullptr;
    int inserted = 0;
    for (std::size_t i = 0; i < count; ++i) {
      fi_addr_t address = FI_ADDR_NOTAVAIL;
      const int error = insert_name(self, static_cast<const std::byte*>(names) + i * sizeof(Name), address);
      if (addresses != nullptr) addresses[i] = address;
      if (errors != nullptr) errors[i] = error;
      if (error == 0) ++inserted;
    }
    if (!self.has_events()) return inserted;
    const fi_eq_entry entry{&vector->fid, context, static_cast<std::uint64_t>(inserted)};
    self.events()->add(FI_AV_COMPLETE, &entry, sizeof entry);
    return 0;
  });
}

int remove_names(fid_av* vector, fi_addr_t* addresses, std::size_t count, std::uint64_t flags) {
  return guarded([&]() -> int {
    if (flags != 0) return -FI_EBADFLAGS;
    if (addresses == nullptr && count > 0) return -FI_EINVAL;
    for (std::size_t i = 0; i < count; ++i) {
      if (!AddressVector::of(vector).erase(addresses[i])) return -FI_EINVAL;
    }
    return 0;
  });
}

int look_up_name(fid_av* vector, fi_addr_t address, void* into, std::size_t* length) {
  return guarded([&]() -> int {
    Name name;
    if (!AddressVector::of(vector).find(address, name)) return -FI_EINVAL;
    std::memcpy(into, name.data(), std::min(*length, sizeof name));
    *length = sizeof name;
    return 0;
  });
}

// The bytes of a name mean nothing to people, so all are shown.
const char* write_name(fid_av* /*vector*/, const void* name, char* into, std::size_t* length) {
  std::string text = "exs://";
  for (std::size_t i = 0; i < sizeof(Name); ++i) {
    char digits[3];
    std::snprintf(digits, sizeof digits, "%02x", static_cast<const unsigned char*>(name)[i]);
    text += digits;
  }
  if (*length > 0) std::snprintf(into, *length, "%s", text.c_str());
  *length = text.size() + 1;
  return into;
}

int bind_vector(fid* fid, struct fid* other, std::uint64_t flags) noexcept {
  if (other->fclass != FI_CLASS_EQ || flags != 0) return -FI_EINVAL;
  AddressVector::of(fid).bind(EventQueue::of(other));
  return 0;
}

fi_ops vector_fid_ops = fid_ops(close_unused<AddressVector>, bind_vector);

fi_ops_av vector_ops = {.size = sizeof(fi_ops_av),
                        .insert = insert_names,
                        .insertsvc = kNotHere,
                        .insertsym = kNotHere,
                        .remove = remove_names,
                        .lookup = look_up_name,
                        .straddr = write_name,
                        .av_set = kNotHere};

}  // namespace

int open_address_vector(fid_domain* /*domain*/, fi_av_attr* attr, fid_av** vector, void* context) {
  return guarded([&]() -> int {
    // Addresses of this process are useless to others, and there are no receive contexts: scalable endpoints are not offered.
    if (attr->name != nullptr || attr->rx_ctx_bits != 0) return -FI_ENOSYS;
    if ((attr->flags & ~FI_EVENT) != 0) return -FI_EBADFLAGS;
    *vector = (new AddressVector((attr->flags & FI_EVENT) != 0, context))->handle();
    return 0;
  });
}

}  // namespace exs::fabric
