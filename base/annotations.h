// Names for clang's thread-safety analysis; nothing for other compilers.
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#if defined(__clang__)
#define EXS_ATTRIBUTE(x) __attribute__((x))
#else
#define EXS_ATTRIBUTE(x)
#endif

#define EXS_CAPABILITY(name) EXS_ATTRIBUTE(capability(name))
#define EXS_SCOPED_CAPABILITY EXS_ATTRIBUTE(scoped_lockable)
#define EXS_GUARDED_BY(lock) EXS_ATTRIBUTE(guarded_by(lock))
#define EXS_REQUIRES(...) EXS_ATTRIBUTE(requires_capability(__VA_ARGS__))
#define EXS_EXCLUDES(...) EXS_ATTRIBUTE(locks_excluded(__VA_ARGS__))
#define EXS_ACQUIRE(...) EXS_ATTRIBUTE(acquire_capability(__VA_ARGS__))
#define EXS_TRY_ACQUIRE(...) EXS_ATTRIBUTE(try_acquire_capability(__VA_ARGS__))
#define EXS_RELEASE(...) EXS_ATTRIBUTE(release_capability(__VA_ARGS__))
#define EXS_ASSERT_CAPABILITY(x) EXS_ATTRIBUTE(assert_capability(x))
#define EXS_NO_THREAD_SAFETY_ANALYSIS EXS_ATTRIBUTE(no_thread_safety_analysis)
