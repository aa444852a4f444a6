// exs_sendfile.
// SPDX-License-Identifier: BSD-2-Clause
#include <sys/stat.h>

#include <limits>

#include "base/kernel.h"
#include "src/api/api_call.h"
#include "src/api/vector_post.h"

namespace exs {
namespace {

using proto::Direction;

Status beyond_file(const exs_fdvec_t& range, std::uint64_t size) {
  return refuse(EINVAL, "{} bytes from offset {} are not all in file {}, which ends at {}", range.fdv_len,
                range.fdv_off, range.fdv_fd, size);
}

// Only the length of a regular file can be checked now; pread() reports the errors of others.
Result<Element> file_element(const exs_fdvec_t& range) {
  struct stat file {};
  if (range.fdv_reserved != 0) return failure(reserved_is_set());
  if (range.fdv_fd < 0 || kernel::fstat(range.fdv_fd, &file) != 0)
    return failure(refuse(EBADF, "{} is no descriptor of an open file", range.fdv_fd));
  constexpr auto kOffsetMax = static_cast<std::uint64_t>(std::numeric_limits<off_t>::max());
  if (range.fdv_off > kOffsetMax || range.fdv_len > kOffsetMax - range.fdv_off)
    return failure(beyond_file(range, kOffsetMax));
  std::uint64_t length = range.fdv_len;
  if (S_ISREG(file.st_mode)) {
    const auto size = static_cast<std::uint64_t>(file.st_size);
    if (range.fdv_off > size || length > size - range.fdv_off) return failure(beyond_file(range, size));
    if (length == 0) length = size - range.fdv_off;
  } else if (length == 0) {
    return failure(refuse(EINVAL, "{} is no regular file: its fdv_len must be given, not 0", range.fdv_fd));
  }
  return Element{{nullptr, length, EXS_MHANDLE_UNREGISTERED}, range.fdv_fd, range.fdv_off};
}

Result<Element> any_element(const exs_xferelem_t& element) {
  if (element.reserved != 0) return failure(reserved_is_set());
  if (element.type == EXS_IOVEC) return element_of(element.u.iov);
  if (element.type == EXS_FDVEC) return file_element(element.u.fdv);
  return failure(
      refuse(EINVAL, "the type {} of an element is neither EXS_IOVEC nor EXS_FDVEC", element.type));
}

Result<std::vector<Element>> elements_of(const exs_xferfile_t* file) {
  if (file == nullptr) return failure(null_argument());
  if (file->xf_reserved != 0) return failure(reserved_is_set());
  if (file->xf_cnt < 0) return failure(out_of_range(file->xf_cnt, 0, EXS_IOV_MAX));
  if (file->xf_cnt > EXS_IOV_MAX) return failure(too_many_pieces(file->xf_cnt));
  if (file->xf_cnt > 0 && file->xf_vec == nullptr) return failure(null_argument());
  std::vector<Element> elements;
  elements.reserve(static_cast<std::size_t>(file->xf_cnt));
  for (int i = 0; i < file->xf_cnt; ++i) {
    const auto element = any_element(file->xf_vec[i]);
    if (!element) return failure(element.error());
    elements.push_back(*element);
  }
  return elements;
}

Status post(Library& library, const TransferRequest& request, const exs_xferfile_t* file) {
  if (const Status status = check_flags(request.direction, request.flags, CallKind::kVector); !status.ok())
    return status;
  const auto target = find_target(library, request);
  if (!target) return target.error();
  const auto elements = elements_of(file);
  if (!elements) return elements.error();
  return post_elements(library, request, *target, *elements, EXS_EVT_SENDFILE, file);
}

}  // namespace
}  // namespace exs

using namespace exs;

int exs_sendfile(int socket, exs_xferfile_t* file, int flags, exs_qhandle_t queue, exs_ahandle_t handle) {
  return api_call([&](Library& library) {
    return post(library, {Direction::kSend, socket, flags, queue, handle}, file);
  });
}
