//go:build linux

package console_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/chromedp/chromedp"
)

var (
	binary  string          // the hecate that is tested
	root    string          // holds everything that the servers write
	browser context.Context // whose tabs the tests open; nil if there is none
)

// errNoBrowser says that there is nothing to test with.
var errNoBrowser = errors.New("no Chromium to look at the console with: install the package chromium")

func TestMain(m *testing.M) { os.Exit(testMain(m)) }

func testMain(m *testing.M) int {
	var err error
	if root, err = os.MkdirTemp("", "hecate-console-"); err == nil {
		root, err = filepath.EvalSymlinks(root)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "make a directory for the tests:", err)
		return 1
	}
	defer os.RemoveAll(root)
	binary = filepath.Join(root, "hecate")
	if out, err := exec.Command("go", "build", "-race=false", "-o", binary, "hecate/cmd/hecate").CombinedOutput(); err != nil {
		fmt.Fprintf(os.Stderr, "build the binary: %v\n%s", err, out)
		return 1
	}
	stop, err := startBrowser()
	switch {
	case errors.Is(err, errNoBrowser) && os.Getenv("CI") == "" && os.Getenv("HECATE_TEST_REQUIRE_ALL") == "":
		fmt.Fprintln(os.Stderr, "NOT TESTED:", err)
	case err != nil:
		fmt.Fprintln(os.Stderr, "start a browser:", err)
		return 1
	default:
		defer stop()
	}
	code := m.Run()
	stopShared()
	return code
}

// startBrowser starts one browser, with a profile of its own, for all tests.
func startBrowser() (stop func(), err error) {
	var path string
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome"} {
		if path, err = exec.LookPath(name); err == nil {
			break
		}
	}
	if path == "" {
		return nil, errNoBrowser
	}
	options := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath(path), chromedp.UserDataDir(filepath.Join(root, "profile")),
		chromedp.WSURLReadTimeout(patience))
	if os.Getuid() == 0 { // its sandbox refuses to be root's
		options = append(options, chromedp.NoSandbox)
	}
	allocator, stopAllocator := chromedp.NewExecAllocator(context.Background(), options...)
	ctx, stopBrowser := chromedp.NewContext(allocator)
	stop = func() { stopBrowser(); stopAllocator() }
	if err := chromedp.Do(ctx); err != nil {
		stop()
		return nil, err
	}
	browser = ctx
	return stop, nil
}
