/* SPDX-License-Identifier: Apache-2.0 */
/* worker/java_reader.h - reads an image of a process's memory (language/java_image.h). */
#pragma once

#include "wire/proto_body.h"
#include "wire/status.h"

/* Reads the image and writes the reply into the memory. */
enum worker_status java_reader_read(int image, int memory, struct proto_methods *out);
