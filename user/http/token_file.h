/* SPDX-License-Identifier: Apache-2.0 */
/* http/token_file.h - a token is the first line of a file. A file of ours is in the store's
 * folder and made once, readable for its owner and group. */
#pragma once

#include "base/err.h"
#include "http/proto.h"

#define TOKEN_FILE "token"
#define TOKEN_FILE_METRICS "metrics-token"

/* -EINVAL with why: the file is not regular, or its first line is no token. */
int token_file_read(const char *path, char out[HTTP_TEXT_MAX], struct why *why);
/* For the daemon, whose token it becomes. -EPERM with why: another user than root and ours owns it
 * or may write it, or may change what the path leads to (place_check). */
int token_file_trust(const char *path, char out[HTTP_TEXT_MAX], struct why *why);
enum { TOKEN_FILE_UNSAVED = 1 };

/* The token in STORE/name, which is made with its folder if it does not exist. TOKEN_FILE_UNSAVED
 * with why: *out is new, and cannot be written now (err_unwritable). -EPERM with why: the file is
 * another user's, who could choose the token. */
int token_file_make(
	const char *store, const char *name, char out[HTTP_TEXT_MAX], struct why *why);
/* Writes an unsaved one. A file that is there by now stays. */
int token_file_save(const char *store, const char *name, const char *token, struct why *why);
