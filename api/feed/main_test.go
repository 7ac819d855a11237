package feed_test

import (
	"fmt"
	"os"
	"testing"

	"hecate/api/apitest"
	"hecate/eventstore/postgres/pgtest"
)

func TestMain(m *testing.M) {
	if err := apitest.Warm(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(pgtest.Main(m))
}
