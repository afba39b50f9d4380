/* SPDX-License-Identifier: Apache-2.0 */
/* daemon/config_jit.c - the words of [jit] enable: a configuration that was read has one. */
#include <string.h>

#include "base/own.h"
#include "daemon/config.h"

int config_jit_find(const char *word)
{
	static const char *const words[] = {
		[CONFIG_JIT_NEVER] = "never",
		[CONFIG_JIT_ON_DEMAND] = "on-demand",
		[CONFIG_JIT_ALWAYS] = "always",
	};

	for (int i = 0; i < (int)ARRAY_SIZE(words); i++)
		if (strcmp(words[i], word) == 0)
			return i;
	return -1;
}

enum config_jit config_jit(const struct config *config)
{
	return (enum config_jit)config_jit_find(config->jit);
}
