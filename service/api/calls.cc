// SPDX-License-Identifier: BSD-2-Clause
#include "service/api/calls.h"

#include <cerrno>

namespace exs::svc {

Result<std::vector<exs_iovec_t>> read_pieces(const exs_iovec_t* pieces, int count) {
  if (count < 0 || (pieces == nullptr && count > 0))
    return failure(refuse(EINVAL, "no long items, or places for them"));
  if (count > EXS_SVC_ITEMS_MAX)
    return failure(refuse(EMSGSIZE, "more than {} long items, or places for them", EXS_SVC_ITEMS_MAX));
  for (int i = 0; i < count; ++i) {
    if ((pieces[i].iov_base == nullptr && pieces[i].iov_len > 0) || pieces[i].iov_reserved != 0)
      return failure(refuse(EINVAL, "long item {} is NULL, or its reserved field is set", i));
    if (pieces[i].iov_len > EXS_SVC_LONG_MAX) return failure(refuse(EMSGSIZE, "long item {} is too long", i));
  }
  return std::vector<exs_iovec_t>(pieces, pieces + count);
}

}  // namespace exs::svc
