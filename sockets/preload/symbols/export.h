// Marks a function that programs call in place of the C library's.
#pragma once

#define EXS_EXPORT extern "C" __attribute__((visibility("default")))
