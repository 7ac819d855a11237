package permission_test

import (
	"fmt"
	"testing"

	"hecate/domain/permission"
)

// A decision is made for every call of a bundle, and again before each dispatch.
func BenchmarkDecide(b *testing.B) {
	c := permission.Call{Tool: "shell_exec", Facts: permission.Facts{Principal: "cargo test", Programs: parsed("cargo", "test")}}
	b.Run("policies", func(b *testing.B) {
		p := permission.Posture{Policies: permission.Default}
		for b.Loop() {
			permission.Decide(c, p)
		}
	})
	b.Run("entries=200", func(b *testing.B) {
		var deny []permission.Text
		for i := range 100 {
			deny = append(deny, permission.Text{Text: fmt.Sprintf("exec(p%d) args(*)", i)}, permission.Text{Text: fmt.Sprintf("edit(src/%d/**)", i)})
		}
		cfg, _ := permission.Load(permission.Source{Deny: deny})
		p := permission.Posture{Name: permission.PostureLevels, Config: cfg}
		for b.Loop() {
			permission.Decide(c, p)
		}
	})
}
