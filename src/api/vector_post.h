// A post of several elements, one after the other: pieces of memory, ranges of files.
#pragma once

#include <span>

#include "src/api/transfer.h"

namespace exs {

struct Element {
  Piece piece;    // of a range of a file: its length alone
  int file = -1;  // -1: memory
  std::uint64_t file_offset = 0;
};

// An element of the caller's. EINVAL: a reserved field is set.
Result<Element> element_of(const exs_iovec_t& vector);

// Posts the elements; the event has the type, and `posted` as what was posted. Small unregistered memory and
// files are copied, files also when they are large. EINVAL together too long, or a file is too short; what
// the checks of a piece, the provider and pread() say.
Status post_elements(Library& library, const TransferRequest& request, const TransferTarget& target,
                     std::span<const Element> elements, std::uint8_t event_type, const void* posted);

}  // namespace exs
