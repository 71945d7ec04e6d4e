// pause holds a pod's namespaces: it waits for a signal to end, and reaps the processes that pods leave behind.
// With -v it ends at once, as the original does after its version: kubeadm's health check before an upgrade is such a Job.
package main

import (
	"fmt"
	"os"
	"os/signal"
	"syscall"
)

func main() {
	if len(os.Args) > 1 && os.Args[1] == "-v" {
		fmt.Println("pause.go, a stand-in")
		return
	}
	signals := make(chan os.Signal, 8)
	signal.Notify(signals, syscall.SIGINT, syscall.SIGTERM, syscall.SIGCHLD)
	for {
		if <-signals != syscall.SIGCHLD {
			return
		}
		for {
			if ended, err := syscall.Wait4(-1, nil, syscall.WNOHANG, nil); err != nil || ended <= 0 {
				break
			}
		}
	}
}
