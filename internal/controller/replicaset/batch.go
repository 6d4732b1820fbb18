package replicaset

import "sync"

// maxParallel bounds the requests in flight of one ReplicaSet, so that a large one
// does not crowd out the others.
const maxParallel = 100

// slowStart calls do up to count times, in parallel batches of 1, 2, 4, … calls; it
// stops after the first batch with an error, so that a thousand creations that will all
// be refused for one reason cost one request. It returns the first error.
func slowStart(count int, do func() error) error {
	for batch := 1; count > 0; batch = min(2*batch, maxParallel) {
		n := min(batch, count)
		if err := parallel(n, func(int) error { return do() }); err != nil {
			return err
		}
		count -= n
	}
	return nil
}

// parallel calls do(0) … do(count-1), at most maxParallel at once, waits for all, and
// returns the error with the lowest index.
func parallel(count int, do func(i int) error) error {
	errs := make([]error, count)
	slots := make(chan struct{}, maxParallel)
	var calls sync.WaitGroup
	for i := range count {
		slots <- struct{}{}
		calls.Go(func() {
			defer func() { <-slots }()
			errs[i] = do(i)
		})
	}
	calls.Wait()
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}
