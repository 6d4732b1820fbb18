package etcd

import (
	"sync"
	"testing"
)

// Checking whether a directory is in use never prevents a start from using it: a kubectl that finds
// no server checks, perhaps while the server is starting.
func TestCheckingInUseDoesNotPreventAStart(t *testing.T) {
	dir := t.TempDir()
	stop := make(chan struct{})
	var looking sync.WaitGroup
	for range 4 {
		looking.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
					InUse(dir)
				}
			}
		})
	}
	for range 2000 {
		lock, err := lockDir(dir)
		if err != nil {
			t.Error(err)
			break
		}
		if !InUse(dir) {
			t.Error("a directory that is locked counts as free")
		}
		if err := lock.release(); err != nil {
			t.Error(err)
		}
	}
	close(stop)
	looking.Wait()
	if InUse(dir) {
		t.Error("a directory that was released counts as in use")
	}
}
