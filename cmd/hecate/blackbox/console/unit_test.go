//go:build linux

package console_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/evanw/esbuild/pkg/api"
)

// What of the console's sources is no page is tested by itself, in the language that it is
// written in: all tests of unit run in the browser, as one bundle.
func TestUnits(t *testing.T) {
	t.Parallel()
	if browser == nil {
		t.Skip(errNoBrowser)
	}
	script := units(t)
	blank := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		fmt.Fprint(w, "<!doctype html><link rel=icon href=data:,><main><h1>Tests</h1></main>")
	}))
	defer blank.Close()
	s := &server{addr: strings.TrimPrefix(blank.URL, "http://")}
	p := s.open(t, "/")
	type result struct{ Name, Fault string }
	results, err := chromedp.Run(p.ctx, chromedp.Evaluate[[]result](script+"; units.run()", chromedp.EvalAwaitPromise))
	p.must(err)
	if len(results) < 20 {
		t.Errorf("only %d tests have run", len(results))
	}
	for _, r := range results {
		t.Run(r.Name, func(t *testing.T) {
			if r.Fault != "" {
				t.Error(r.Fault)
			}
		})
	}
}

// units is all tests as one script, which defines units.run.
func units(t *testing.T) string {
	t.Helper()
	dir, err := filepath.Abs("../../../../api/console")
	if err != nil {
		t.Fatal(err)
	}
	files, err := filepath.Glob(filepath.Join(dir, "unit", "*.test.ts"))
	if err != nil || len(files) == 0 {
		t.Fatalf("there are no tests in %s: %v", dir, err)
	}
	var entry strings.Builder
	for _, f := range files {
		fmt.Fprintf(&entry, "import './%s';\n", filepath.Base(f))
	}
	entry.WriteString("export { run } from './check';\n")
	libraries := map[string]string{}
	for name, lib := range map[string]string{
		"preact": "preact", "preact/hooks": "preact", "preact/jsx-runtime": "preact", "@preact/signals": "preact",
		"marked": "marked", "dompurify": "dompurify", "diff": "diff", "highlight.js": "highlight",
	} {
		libraries[name] = filepath.Join(dir, "lib", lib, lib+".js")
	}
	built := api.Build(api.BuildOptions{
		Stdin:  &api.StdinOptions{Contents: entry.String(), ResolveDir: filepath.Join(dir, "unit"), Loader: api.LoaderTS},
		Bundle: true, Format: api.FormatIIFE, GlobalName: "units", Target: api.ES2022, Platform: api.PlatformBrowser,
		JSX: api.JSXAutomatic, JSXImportSource: "preact", Alias: libraries, TsconfigRaw: "{}", Outdir: dir,
	})
	for _, e := range built.Errors {
		t.Errorf("bundle the tests: %s %v", e.Text, e.Location)
	}
	if t.Failed() {
		t.FailNow()
	}
	return string(built.OutputFiles[0].Contents)
}
