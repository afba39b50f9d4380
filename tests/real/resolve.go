// SPDX-License-Identifier: Apache-2.0
// resolve.go - a Go program that looks up hosts and users by the C library, which Go's own linker
// binds it to: the C functions in between are in the program without their call frame information.
// Usage: resolve [SECONDS]
package main

import (
	"fmt"
	"net"
	"os"
	"os/user"
	"strconv"
	"time"
)

func main() {
	seconds := 60
	if len(os.Args) > 1 {
		seconds, _ = strconv.Atoi(os.Args[1])
	}
	end := time.Now().Add(time.Duration(seconds) * time.Second)
	for i := 0; i < 3; i++ {
		go func() {
			for {
				_, _ = net.LookupHost("localhost")
				_, _ = user.LookupId("0")
			}
		}()
	}
	looked := 0
	for time.Now().Before(end) {
		_, _ = user.LookupId(fmt.Sprint(looked % 20))
		looked++
	}
	fmt.Println(looked)
}
