/* SPDX-License-Identifier: Apache-2.0 */
/* http/places.h - gives each connection a place, with limits by peer, and keeps some for health
 * checks: whoever fills all places that can be had makes no check fail. */
#pragma once

#include "http/conn.h"

/* The connection that makes room, now that the newcomer has come; NULL: there is room. Only those
 * that have not sent a whole request make room, the oldest first: of the newcomer's peer if that
 * has too many, else of the peer that has most. */
struct http_conn *http_places_displace(
	struct http_server *server, const struct http_conn *newcomer);

/* May this request wait, or be sent an answer that is slow to take? */
bool http_places_allow(const struct http_server *server, const struct http_conn *conn);
