/* SPDX-License-Identifier: Apache-2.0 */
/* language/java_name.h - names and lines of HotSpot's code, from the bytes that BPF has read: those
 * of a method's name and of its class, or of a blob's name. A method is `java.util.TreeMap.put`,
 * other code `[StubRoutines]`. Sources: JVM specification, 4.4.7 (modified UTF-8); OpenJDK,
 * src/hotspot/share/code/compressedStream.hpp and utilities/unsigned5.hpp (tables of lines). */
#pragma once

#include <stdint.h>

#include "base/buf.h"
#include "bpf/abi.h"

/* Appends UTF-8. 0 or the buffer's error. */
int java_put_name(const struct event_code *code, struct buf *out);
/* The same of a text of its. */
int java_put_text(struct buf *out, const uint8_t *text, size_t len);
/* The line of a place in the bytecode. 0: unknown. */
uint32_t java_line(const struct event_code *code, uint32_t place);
