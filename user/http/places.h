/* SPDX-License-Identifier: Apache-2.0 */
/* http/places.h - gives each connection a place. Peers share the places, so whoever fills all that
 * can be had, or several peers together, make no health check of another one fail. */
#pragma once

#include "http/conn.h"

/* The connection that makes room, now that the newcomer has come; NULL: there is room. While a
 * tenth of the places is free nobody makes room; then the peer that has most (base/share.h), with
 * the oldest that has not sent a whole request. If all of these have, the newcomer itself, unless
 * its peer holds little. */
struct http_conn *http_places_displace(struct http_server *server, struct http_conn *newcomer);

/* May this request wait, or be sent an answer that is slow to take? */
bool http_places_allow(const struct http_server *server, const struct http_conn *conn);
