/* SPDX-License-Identifier: Apache-2.0 */
/* http/ticket.h - a ticket stands for the token in the address that `stoker open` prints:
 * UNTIL-NONCE-PROOF, in hex. Only who has the token can make the proof, and the proof does not lead
 * to the token. The server takes a ticket once (http/tokens.h). */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/clock.h"

#define TICKET_NS (60 * NSEC_PER_SEC)
#define TICKET_TEXT_MAX 64

/* now_ns: CLOCK_BOOTTIME, which both ends share. nonce: a random number. */
void ticket_make(const char *token, uint64_t now_ns, uint64_t nonce, char text[TICKET_TEXT_MAX]);
/* Was it made with this token, at most TICKET_NS ago, and after this time? Takes the same time for
 * every proof. */
bool ticket_is_good(const char *token, const char *text, uint64_t after_ns, uint64_t now_ns);
