// SPDX-License-Identifier: Apache-2.0
// split.go - goroutines for gccgo, whose stacks are split and need more than a piece. Usage: split [SECONDS]
package main

import (
	"fmt"
	"os"
	"sort"
	"strconv"
	"time"
)

func grow(x uint64, depth int) uint64 {
	var room [256]uint64
	room[x&255] = x
	if depth == 0 {
		return x * 3
	}
	return grow(room[x&255]+1, depth-1) + room[(x+1)&255]
}

func work(in <-chan uint64, out chan<- uint64) {
	for x := range in {
		names := []string{}
		for i := uint64(0); i < 50; i++ {
			names = append(names, fmt.Sprintf("name-%d", x*i%1000))
		}
		sort.Strings(names)
		out <- uint64(len(names[0])) + grow(x, 20)
	}
}

func main() {
	seconds := 200
	if len(os.Args) > 1 {
		seconds, _ = strconv.Atoi(os.Args[1])
	}
	end := time.Now().Add(time.Duration(seconds) * time.Second)
	in, out := make(chan uint64, 8), make(chan uint64, 8)
	for i := 0; i < 4; i++ {
		go work(in, out)
	}
	sum := uint64(0)
	for x := uint64(1); time.Now().Before(end); x++ {
		in <- x
		if x > 8 {
			sum += <-out
		}
	}
	fmt.Println(sum)
}
