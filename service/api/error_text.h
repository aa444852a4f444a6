// The text that exs_svc_errtext() returns for this thread. Thread: any.
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

namespace exs::svc {

// Keeps the text and sets errno to `error`; returns -1.
[[gnu::format(printf, 2, 3)]] int refuse(int error, const char* format, ...);
const char* error_text();
// Sets errno to the last error again, after cleanup that may have changed it.
void restore_error();

}  // namespace exs::svc
