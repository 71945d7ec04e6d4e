// csidriver serves Kubernetes' own mock of a CSI driver under another driver's name, as its controller and node plug-in.
// It prints each call as a line of JSON: method and request. It keeps volumes in memory, and formats and mounts nothing.
package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"net"
	"os"
	"os/signal"
	"syscall"

	"google.golang.org/grpc"
	"k8s.io/kubernetes/test/e2e/storage/drivers/csi-test/driver"
	"k8s.io/kubernetes/test/e2e/storage/drivers/csi-test/mock/service"
)

func main() {
	name := flag.String("name", "", "name of the driver")
	socket := flag.String("socket", "", "path of the socket")
	attach := flag.Bool("attach", true, "attach volumes to nodes")
	flag.Parse()
	listener, err := net.Listen("unix", *socket)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	mock := service.New(service.Config{DriverName: *name, AttachLimit: 24, DisableAttach: !*attach})
	served := driver.NewCSIDriver(&driver.CSIDriverServers{Controller: mock, Identity: mock, Node: mock})
	printed := func(ctx context.Context, request any, info *grpc.UnaryServerInfo, handle grpc.UnaryHandler) (any, error) {
		answer, err := handle(ctx, request)
		line, _ := json.Marshal(map[string]any{"method": info.FullMethod, "request": request, "failed": err != nil})
		fmt.Println(string(line))
		return answer, err
	}
	if err := served.Start(listener, printed); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	ended := make(chan os.Signal, 1)
	signal.Notify(ended, syscall.SIGINT, syscall.SIGTERM)
	<-ended
	served.Stop()
}
