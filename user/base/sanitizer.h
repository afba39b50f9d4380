/* SPDX-License-Identifier: Apache-2.0 */
/* base/sanitizer.h - is this a build with AddressSanitizer? The only things that may differ by it:
 *     limits on memory, as its shadow is of terabytes;
 *     the system call that it makes before each function that does not return. */
#pragma once

#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define WITH_ASAN 1
#endif
#elif defined(__SANITIZE_ADDRESS__)
#define WITH_ASAN 1
#endif
