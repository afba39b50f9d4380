/* SPDX-License-Identifier: Apache-2.0 */
/* publish.c - the border between rows and the kernel's maps: any sequence of rows, pages, drops and
 * failures.
 * LINK: -Wl,--wrap=malloc,--wrap=calloc,--wrap=reallocarray */
#include "fuzz.h"
#include "publish_driver.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	publish_drive(data, size);
	return 0;
}
