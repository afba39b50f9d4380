/* SPDX-License-Identifier: Apache-2.0 */
/* http/ticket.h - a ticket stands for the token in the address that `stoker open` prints:
 * UNTIL-NONCE-PROOF, in hex. Only who has the token can make the proof, and the proof does not lead
 * to the token. The server takes a ticket once (http/tokens.h). */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#define TICKET_SECONDS 60
#define TICKET_TEXT_MAX 64

/* now_s: CLOCK_BOOTTIME, which both ends share. nonce: a random number. */
void ticket_make(const char *token, uint64_t now_s, uint64_t nonce, char text[TICKET_TEXT_MAX]);
/* Was it made with this token, and at most TICKET_SECONDS ago? Takes the same time for every
 * proof. */
bool ticket_is_good(const char *token, const char *text, uint64_t now_s);
