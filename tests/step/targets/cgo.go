// SPDX-License-Identifier: Apache-2.0

/* cgo.go - Go that calls C that calls Go, whose stack grows there.
 * BUILD go: tests/step/go_build -ldflags=-linkmode=external
 * FROM main.work */
package main

/*
#include <stdint.h>

extern uint64_t goBack(uint64_t);

static __attribute__((noinline)) uint64_t descend(uint64_t x, int depth)
{
	volatile uint64_t room[4] = { x };

	return depth == 0 ? goBack(room[0]) : descend(x + 1, depth - 1) + room[0];
}
*/
import "C"

import (
	"os"
	"runtime"
)

var sink uint64

func init() {
	runtime.LockOSThread()
}

//export goBack
func goBack(x C.uint64_t) C.uint64_t {
	return C.uint64_t(grow(uint64(x), 12))
}

//go:noinline
func grow(x uint64, depth int) uint64 {
	var room [64]uint64
	room[x&63] = x
	if depth == 0 {
		return x
	}
	return grow(room[x&63]+1, depth-1) + room[(x+1)&63]
}

//go:noinline
func work() {
	for i := 0; i < 2; i++ {
		sink += uint64(C.descend(C.uint64_t(i), C.int(2+i)))
	}
}

func main() {
	work()
	if sink == 0 {
		os.Exit(1)
	}
}
