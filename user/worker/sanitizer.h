/* SPDX-License-Identifier: Apache-2.0 */
/* worker/sanitizer.h - detects a build with AddressSanitizer. Only these may depend on it:
 *     limits on memory, because its shadow needs terabytes;
 *     the system call that it makes before each function that does not return. */
#pragma once

#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define WITH_ASAN 1
#endif
#elif defined(__SANITIZE_ADDRESS__)
#define WITH_ASAN 1
#endif
