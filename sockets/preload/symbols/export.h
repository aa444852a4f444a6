// Marks a function that programs call in place of the C library's.
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#define EXS_EXPORT extern "C" __attribute__((visibility("default")))
