/* exs/handles.h - what names the objects of the library. Part of exs.h, valid C11 and C++. */
/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef EXS_HANDLES_H
#define EXS_HANDLES_H

#if defined(__GNUC__)
#define EXS_API __attribute__((visibility("default")))
#else
#define EXS_API
#endif

/* In C a handle is an int. In C++ each kind is a type of its own, of the size of an int: it converts to int, and nothing
 * converts to it, so the compiler refuses one kind where another belongs. EXS_MHANDLE_UNREGISTERED stands for unregistered
 * memory: copied for an immediate send, else registered until the operation completes. */
#ifdef __cplusplus
enum exs_mhandle_t : int {}; /* registered memory */
enum exs_qhandle_t : int {}; /* event queue */
enum exs_phandle_t : int {}; /* receive pool */
#define EXS_MHANDLE_INVALID (static_cast<exs_mhandle_t>(-1))
#define EXS_MHANDLE_UNREGISTERED (static_cast<exs_mhandle_t>(0))
#define EXS_QHANDLE_INVALID (static_cast<exs_qhandle_t>(-1))
#define EXS_PHANDLE_INVALID (static_cast<exs_phandle_t>(-1))
#else
typedef int exs_mhandle_t;
typedef int exs_qhandle_t;
typedef int exs_phandle_t;
#define EXS_MHANDLE_INVALID (-1)
#define EXS_MHANDLE_UNREGISTERED 0
#define EXS_QHANDLE_INVALID (-1)
#define EXS_PHANDLE_INVALID (-1)
#endif
typedef void* exs_ahandle_t; /* a value of the caller, returned unchanged in the event */

#endif /* EXS_HANDLES_H */
