/* SPDX-License-Identifier: Apache-2.0 */
/* For the host: all of it is in unwind_maps.bpf.h here. */
#pragma once

#include "bpf/unwind_maps.bpf.h"
