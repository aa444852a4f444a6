// What a program calls in place of the C library's function of the same name.
#pragma once

#define EXS_EXPORT extern "C" __attribute__((visibility("default")))
