// What exs_svc_errtext() tells of this thread. Thread: any.
#pragma once

namespace exs::svc {

// Keeps the text and sets errno to `error`; returns -1.
[[gnu::format(printf, 2, 3)]] int refuse(int error, const char* format, ...);
const char* error_text();
// Sets errno to the error again, after what may have changed it.
void restore_error();

}  // namespace exs::svc
