package console

import (
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strings"
	"sync"

	"github.com/evanw/esbuild/pkg/api"
)

//go:embed src lib
var sources embed.FS

// libraries says which file holds what the sources import by name.
var libraries = map[string]string{
	"preact": "preact", "preact/hooks": "preact", "preact/jsx-runtime": "preact", "@preact/signals": "preact",
	"marked": "marked", "dompurify": "dompurify", "diff": "diff", "highlight.js": "highlight",
}

// chunks is what the names of parts begin with that are loaded when they are needed.
const chunks = "part-"

// file is one file as it is sent.
type file struct {
	content []byte
	tag     string // its ETag
}

// bundle is what browsers load, made at the first request.
var bundle = sync.OnceValues(build)

// build makes the files. The same sources give the same bytes.
func build() (map[string]file, error) {
	built := api.Build(api.BuildOptions{
		EntryPointsAdvanced: []api.EntryPoint{{InputPath: "src/main.tsx", OutputPath: "app"}, {InputPath: "src/css/app.css", OutputPath: "style"}},
		Bundle:              true, Splitting: true, Format: api.FormatESModule, Target: api.ES2022, Platform: api.PlatformBrowser,
		JSX: api.JSXAutomatic, JSXImportSource: "preact",
		MinifyWhitespace: true, MinifySyntax: true, MinifyIdentifiers: true, LegalComments: api.LegalCommentsNone,
		Outdir: "/", ChunkNames: chunks + "[name]-[hash]",
		TsconfigRaw: "{}", // the one in src is for the type checker
		Plugins:     []api.Plugin{{Name: "embedded", Setup: embedded}},
	})
	if len(built.Errors) > 0 {
		lines := api.FormatMessages(built.Errors, api.FormatMessagesOptions{Kind: api.ErrorMessage})
		return nil, fmt.Errorf("bundle the console: %w", errors.New(strings.Join(lines, "")))
	}
	out := map[string]file{}
	for _, f := range built.OutputFiles {
		out[path.Base(f.Path)] = tagged(f.Contents)
	}
	for _, name := range []string{"index.html", "icon.svg"} {
		raw, err := fs.ReadFile(sources, "src/"+name)
		if err != nil {
			return nil, fmt.Errorf("bundle the console: %w", err)
		}
		out[name] = tagged(raw)
	}
	return out, nil
}

func tagged(content []byte) file {
	sum := sha256.Sum256(content)
	return file{content, `"` + hex.EncodeToString(sum[:16]) + `"`}
}

// embedded makes the bundler read from the binary and from nowhere else.
func embedded(b api.PluginBuild) {
	b.OnResolve(api.OnResolveOptions{Filter: ".*"}, func(a api.OnResolveArgs) (api.OnResolveResult, error) {
		p, err := find(a.Path, a.Importer)
		return api.OnResolveResult{Path: p, Namespace: "embedded"}, err
	})
	b.OnLoad(api.OnLoadOptions{Filter: ".*", Namespace: "embedded"}, func(a api.OnLoadArgs) (api.OnLoadResult, error) {
		raw, err := sources.ReadFile(a.Path)
		text := string(raw)
		return api.OnLoadResult{Contents: &text, Loader: loaders[path.Ext(a.Path)]}, err
	})
}

var loaders = map[string]api.Loader{".ts": api.LoaderTS, ".tsx": api.LoaderTSX, ".js": api.LoaderJS, ".css": api.LoaderCSS}

// find returns the file that an import means.
func find(name, importer string) (string, error) {
	if lib, ok := libraries[name]; ok {
		return "lib/" + lib + "/" + lib + ".js", nil
	}
	p := name
	if strings.HasPrefix(name, ".") {
		p = path.Join(path.Dir(importer), name)
	}
	for _, ext := range []string{"", ".ts", ".tsx"} {
		if _, ok := loaders[path.Ext(p+ext)]; !ok {
			continue
		}
		if info, err := fs.Stat(sources, p+ext); err == nil && !info.IsDir() {
			return p + ext, nil
		}
	}
	return "", fmt.Errorf("find %s, which %s imports: %w", name, importer, fs.ErrNotExist)
}
