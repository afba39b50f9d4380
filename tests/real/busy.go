// SPDX-License-Identifier: Apache-2.0
// busy.go - a busy Go program: goroutines, channels, maps, sorting with a callback, JSON, formatting,
// regular expressions, the garbage collector. Usage: busy [SECONDS]
package main

import (
	"encoding/json"
	"fmt"
	"os"
	"regexp"
	"sort"
	"strconv"
	"strings"
	"time"
)

type grain struct {
	Name  string            `json:"name"`
	Size  int               `json:"size"`
	Notes map[string]string `json:"notes"`
}

//go:noinline
func grind(x uint64, turns int) uint64 {
	for i := 0; i < turns; i++ {
		x = (x ^ (x >> 13)) * 0x9e3779b97f4a7c15
	}
	return x
}

//go:noinline
func descend(x uint64, depth int) uint64 {
	if depth == 0 {
		return grind(x, 20000)
	}
	return descend(x+1, depth-1) + 1
}

func sortAndTell(x uint64) int {
	all := make([]grain, 300)
	for i := range all {
		x = grind(x, 3)
		all[i] = grain{fmt.Sprintf("grain-%d", x%1000), int(x % 77), map[string]string{"k": strconv.Itoa(i)}}
	}
	sort.Slice(all, func(i, j int) bool { return strings.Compare(all[i].Name, all[j].Name) < 0 })
	text, _ := json.Marshal(all)
	var back []grain
	_ = json.Unmarshal(text, &back)
	return len(text) + len(back)
}

var digits = regexp.MustCompile(`([a-z]+)-(\d+)`)

func rewrite(n int) int {
	return len(digits.ReplaceAllString(strings.Repeat(fmt.Sprintf("grain-%d ", n), 40), "$2-$1"))
}

func worker(in <-chan uint64, out chan<- int) {
	for x := range in {
		sum := sortAndTell(x) + rewrite(int(x&1023)) + int(descend(x, 60)&1)
		func() {
			defer func() { _ = recover() }()
			if x%3 == 0 {
				panic("one in three")
			}
		}()
		out <- sum
	}
}

func main() {
	seconds := 60
	if len(os.Args) > 1 {
		seconds, _ = strconv.Atoi(os.Args[1])
	}
	end := time.Now().Add(time.Duration(seconds) * time.Second)
	in, out := make(chan uint64, 8), make(chan int, 8)
	for i := 0; i < 4; i++ {
		go worker(in, out)
	}
	sum := 0
	for x := uint64(1); time.Now().Before(end); x++ {
		in <- x
		if x > 8 {
			sum += <-out
		}
	}
	fmt.Println(sum)
}
