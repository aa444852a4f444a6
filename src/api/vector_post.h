// A post of several elements, one after the other: pieces of memory, ranges of files.
// SPDX-License-Identifier: BSD-2-Clause
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

// Posts the elements. The event has the type `event_type` and names `posted`. Files and small unregistered
// memory are copied. EINVAL: together too long, or a file is too short. Also the errors of check_piece(), the
// provider and pread().
Status post_elements(Library& library, const TransferRequest& request, const TransferTarget& target,
                     std::span<const Element> elements, std::uint8_t event_type, const void* posted);

}  // namespace exs
