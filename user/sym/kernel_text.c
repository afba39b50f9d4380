/* SPDX-License-Identifier: Apache-2.0 */
/* sym/kernel_text.c - splits the text at its last `+` and its brackets. */
#include "sym/kernel_text.h"

#include <string.h>

#include "base/line.h"

/* The text of `[MODULE]`, without the brackets; "" if it is none. */
static const char *module_of(char *text)
{
	size_t len = text ? strlen(text) : 0;

	if (len < 2 || text[0] != '[' || text[len - 1] != ']')
		return "";
	text[len - 1] = '\0';
	return text + 1;
}

bool kernel_text_parse(char *text, uint64_t addr, struct kernel_name *out)
{
	char *rest = text, *place = strsep(&rest, " "), *plus = strrchr(place, '+');
	struct cursor c;
	uint64_t offset;

	if (!plus || plus == place)
		return false;
	*plus++ = '\0';
	c = cursor_init(plus, strcspn(plus, "/"));
	if (!line_hex(&c, &offset) || offset > addr || offset >= KERNEL_SYM_REACH_MAX)
		return false;
	*out = (struct kernel_name){
		.name = place, .module = module_of(rest), .start = addr - offset
	};
	return true;
}
