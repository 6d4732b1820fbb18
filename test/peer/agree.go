package main

import (
	"flag"
	"fmt"
	"os"
	"time"

	"github.com/allot-dev/allot/test/peer/allocators"
)

// agree compares results. Unexplained differences are an error.
func agree(arguments []string) error {
	flags := flag.NewFlagSet("agree", flag.ExitOnError)
	cases := flags.Int("cases", 20_000, "number of worlds to generate")
	seed := flags.Uint64("seed", 1, "seed of the worlds")
	one := flags.Int("case", -1, "show only the world with this number, with both results")
	_ = flags.Parse(arguments) // exits the process if it fails
	if *one >= 0 {
		w := allocators.New(*seed, uint64(*one))
		c := allocators.Compare(w, time.Minute)
		fmt.Printf("%s\n%s: %s\n%s\n", w, c.Outcome, c.Why, c.Detail)
		return nil
	}
	tally := allocators.Agree(*seed, *cases)
	tally.Print(os.Stdout)
	if n := tally.Unexplained(); n > 0 {
		return fmt.Errorf("%d of %d answers differ without a reason; upstream alone allocates %d of these", n, *cases,
			tally.Missed())
	}
	return nil
}
