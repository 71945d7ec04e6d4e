// csicalls SOCKET calls the controller service of a CSI driver, once for each line of JSON that it reads: {"method":
// "CreateVolume", "request": {...}}. It prints each answer as a line of JSON: {"answer": {...}}, or {"code": "NotFound",
// "message": "..."} for a refusal.
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"time"

	"github.com/container-storage-interface/spec/lib/go/csi"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
)

type call struct {
	Method  string          `json:"method"`
	Request json.RawMessage `json:"request"`
}

// pairs has an empty request and an empty answer of each method.
var pairs = map[string]func() (proto.Message, proto.Message){
	"CreateVolume": func() (proto.Message, proto.Message) {
		return &csi.CreateVolumeRequest{}, &csi.CreateVolumeResponse{}
	},
	"DeleteVolume": func() (proto.Message, proto.Message) {
		return &csi.DeleteVolumeRequest{}, &csi.DeleteVolumeResponse{}
	},
	"ControllerPublishVolume": func() (proto.Message, proto.Message) {
		return &csi.ControllerPublishVolumeRequest{}, &csi.ControllerPublishVolumeResponse{}
	},
	"ControllerUnpublishVolume": func() (proto.Message, proto.Message) {
		return &csi.ControllerUnpublishVolumeRequest{}, &csi.ControllerUnpublishVolumeResponse{}
	},
	"ControllerExpandVolume": func() (proto.Message, proto.Message) {
		return &csi.ControllerExpandVolumeRequest{}, &csi.ControllerExpandVolumeResponse{}
	},
	"CreateSnapshot": func() (proto.Message, proto.Message) {
		return &csi.CreateSnapshotRequest{}, &csi.CreateSnapshotResponse{}
	},
	"DeleteSnapshot": func() (proto.Message, proto.Message) {
		return &csi.DeleteSnapshotRequest{}, &csi.DeleteSnapshotResponse{}
	},
	"ListSnapshots": func() (proto.Message, proto.Message) {
		return &csi.ListSnapshotsRequest{}, &csi.ListSnapshotsResponse{}
	},
	"ListVolumes": func() (proto.Message, proto.Message) {
		return &csi.ListVolumesRequest{}, &csi.ListVolumesResponse{}
	},
}

func main() {
	connection, err := grpc.NewClient("unix://"+os.Args[1], grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		fail(err)
	}
	lines := bufio.NewScanner(os.Stdin)
	for lines.Scan() {
		var each call
		if err := json.Unmarshal(lines.Bytes(), &each); err != nil {
			fail(err)
		}
		fmt.Println(answered(connection, each))
	}
}

func answered(connection *grpc.ClientConn, each call) string {
	pair, known := pairs[each.Method]
	if !known {
		fail(fmt.Errorf("unknown method %q", each.Method))
	}
	request, answer := pair()
	if err := protojson.Unmarshal(each.Request, request); err != nil {
		fail(err)
	}
	limited, stop := context.WithTimeout(context.Background(), 2*time.Minute)
	defer stop()
	if err := connection.Invoke(limited, "/csi.v1.Controller/"+each.Method, request, answer); err != nil {
		refused := status.Convert(err)
		return printed(map[string]any{"code": refused.Code().String(), "message": refused.Message()})
	}
	text, err := protojson.Marshal(answer)
	if err != nil {
		fail(err)
	}
	return printed(map[string]any{"answer": json.RawMessage(text)})
}

func printed(value any) string {
	text, err := json.Marshal(value)
	if err != nil {
		fail(err)
	}
	return string(text)
}

func fail(err error) {
	fmt.Fprintln(os.Stderr, err)
	os.Exit(1)
}
