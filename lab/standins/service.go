package main

import (
	"errors"
	"time"

	"golang.org/x/sys/windows/svc"
)

// work runs until it fails or stop is closed; name is the service's.
type work func(name string, stop <-chan struct{}) error

type service struct {
	work work
	err  error
}

// serve answers the service control manager while the work runs; the service ends with it.
func serve(does work) error {
	own := &service{work: does}
	if err := svc.Run("", own); err != nil {
		return err
	}
	return own.err
}

func (own *service) Execute(words []string, asked <-chan svc.ChangeRequest, say chan<- svc.Status) (bool, uint32) {
	stop, ended := make(chan struct{}), make(chan error, 2)
	go func() { ended <- own.work(words[0], stop) }()
	if readBook("faults")[words[0]] == "dies" {
		time.AfterFunc(time.Second, func() { ended <- errors.New("it dies, as the test wants") })
	}
	say <- svc.Status{State: svc.Running, Accepts: svc.AcceptStop | svc.AcceptShutdown}
	for {
		select {
		case own.err = <-ended:
			if own.err != nil {
				note("failures.jsonl", map[string]any{"name": words[0], "failure": own.err.Error()})
				return true, 1
			}
			return false, 0
		case request := <-asked:
			switch request.Cmd {
			case svc.Interrogate:
				say <- request.CurrentStatus
			case svc.Stop, svc.Shutdown:
				say <- svc.Status{State: svc.StopPending}
				close(stop)
				<-ended
				return false, 0
			}
		}
	}
}
