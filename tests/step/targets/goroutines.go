// SPDX-License-Identifier: Apache-2.0

/* goroutines.go - Go's ways from a goroutine's stack to its thread's: by runtime.systemstack, where a
 * stack grows and is moved, where the goroutine waits and gives way, and where the clock is read.
 * BUILD go: tests/step/go_build
 * FROM main.work */
package main

import (
	"os"
	"runtime"
	"strings"
	"time"
)

var sink uint64
var kept [][]byte

func init() {
	runtime.LockOSThread()
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
func panics(depth int) uint64 {
	if depth == 0 {
		panic("as meant")
	}
	return panics(depth-1) + 1
}

//go:noinline
func recovers() (out uint64) {
	defer func() {
		if recover() != nil {
			out = 7
		}
	}()
	return panics(3)
}

//go:noinline
func work(requests, answers chan uint64) {
	sink += grow(1, 20)
	requests <- sink
	sink += <-answers
	runtime.Gosched()
	kept = append(kept, make([]byte, 40000))
	sink += recovers() + uint64(time.Now().Nanosecond()) + uint64(len(strings.Repeat("go", 50)))
}

func main() {
	requests, answers := make(chan uint64), make(chan uint64)
	go func() {
		for x := range requests {
			answers <- grow(x, 3)
		}
	}()
	work(requests, answers)
	if sink == 0 {
		os.Exit(1)
	}
}
