package batch

import "sync"

// maxParallel limits the concurrent requests of one call, so that a large owner does not delay
// others.
const maxParallel = 100

// SlowStart calls do(0) … do(count-1) in parallel batches of 1, 2, 4, … calls, and stops after the
// first batch with an error, so that a thousand creations that fail for the same reason cost one
// request. It returns the first error.
func SlowStart(count int, do func(i int) error) error {
	for first, batch := 0, 1; first < count; batch = min(2*batch, maxParallel) {
		n := min(batch, count-first)
		if err := Parallel(n, func(i int) error { return do(first + i) }); err != nil {
			return err
		}
		first += n
	}
	return nil
}

// Parallel calls do(0) … do(count-1) with at most maxParallel concurrent calls, waits for all, and
// returns the error with the lowest index.
func Parallel(count int, do func(i int) error) error {
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
