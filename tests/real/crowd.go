// SPDX-License-Identifier: Apache-2.0
// crowd.go - a Go program that is hard to follow: thousands of goroutines that hand work to each
// other and sleep, stacks that grow and are given back, panics that are recovered in every depth,
// signals, the clock, C code that calls back. Usage: crowd [SECONDS]
package main

/*
#include <stdint.h>

extern uint64_t goBack(uint64_t);

static __attribute__((noinline)) uint64_t cGrind(uint64_t x, int turns)
{
	for (int i = 0; i < turns; i++)
		x = (x ^ (x >> 13)) * 0x9e3779b97f4a7c15;
	return x;
}

static __attribute__((noinline)) uint64_t cDescend(uint64_t x, int depth)
{
	volatile uint64_t room[4] = { x };

	return depth == 0 ? goBack(room[0]) + cGrind(x, 300) : cDescend(x + 1, depth - 1) + room[0];
}
*/
import "C"

import (
	"fmt"
	"os"
	"os/signal"
	"runtime"
	"strconv"
	"sync"
	"syscall"
	"time"
)

//go:noinline
func grind(x uint64, turns int) uint64 {
	for i := 0; i < turns; i++ {
		x = (x ^ (x >> 13)) * 0x9e3779b97f4a7c15
	}
	return x
}

//export goBack
func goBack(x C.uint64_t) C.uint64_t {
	return C.uint64_t(grow(grind(uint64(x), 100), 3))
}

//go:noinline
func grow(x uint64, depth int) uint64 {
	var room [256]uint64
	room[x&255] = x
	if depth == 0 {
		return grind(x, 50)
	}
	return grow(room[x&255]+1, depth-1) + room[(x+1)&255]
}

// A stack of its own, which has to grow some times.
func deep(x uint64) uint64 {
	out := make(chan uint64)
	go func() { out <- grow(x, 80) }()
	return <-out
}

//go:noinline
func fall(x uint64, depth int) uint64 {
	if depth == 0 {
		var nothing *uint64
		if x&1 == 0 {
			return *nothing
		}
		panic(x)
	}
	defer func() {
		if depth%7 == 0 {
			if recover() != nil {
				x = grind(x, 20)
			}
		}
	}()
	return fall(x+1, depth-1) + 1
}

func catch(x uint64) (out uint64) {
	defer func() {
		recover()
		out = grow(x, 2)
	}()
	return fall(x, 10)
}

func pass(in <-chan uint64, out chan<- uint64) {
	for x := range in {
		out <- x + grind(x, 10)
	}
	close(out)
}

// A line of goroutines, each of which has a little to do.
func line(x uint64, length int) uint64 {
	first := make(chan uint64)
	in := first
	for i := 0; i < length; i++ {
		out := make(chan uint64)
		go pass(in, out)
		in = out
	}
	go func() {
		for i := uint64(0); i < 20; i++ {
			first <- x + i
		}
		close(first)
	}()
	for y := range in {
		x += y
	}
	return x
}

type tree struct {
	left, right *tree
	name        string
}

func plant(depth int) *tree {
	if depth == 0 {
		return &tree{name: strconv.Itoa(depth)}
	}
	return &tree{plant(depth - 1), plant(depth - 1), strconv.Itoa(depth)}
}

func main() {
	seconds := 60
	if len(os.Args) > 1 {
		seconds, _ = strconv.Atoi(os.Args[1])
	}
	end := time.Now().Add(time.Duration(seconds) * time.Second)
	bells := make(chan os.Signal, 1)
	signal.Notify(bells, syscall.SIGUSR1)
	go func() {
		for range bells {
			grind(1, 1000)
		}
	}()
	for i := 0; i < 500; i++ {
		go func(pause time.Duration) {
			for {
				time.Sleep(pause)
			}
		}(time.Duration(5+i%50) * time.Millisecond)
	}
	var all sync.WaitGroup
	for i := 0; i < 3; i++ {
		all.Add(1)
		go func(x uint64) {
			defer all.Done()
			for ; time.Now().Before(end); x++ {
				x += deep(x) + catch(x) + line(x, 20)
				for j := 0; j < 5; j++ {
					x += uint64(C.cDescend(C.uint64_t(x), 5))
				}
				if plant(10).left == nil {
					panic("no tree")
				}
				syscall.Kill(os.Getpid(), syscall.SIGUSR1)
				runtime.Gosched()
			}
		}(uint64(i))
	}
	all.Wait()
	fmt.Println("done")
}
