package feed_test

import (
	"fmt"
	"os"
	"testing"

	"hecate/api/apitest"
)

func TestMain(m *testing.M) {
	if err := apitest.Warm(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(m.Run())
}
