package pattern

import "strings"

// anyText reports whether glob matches all of s, where * stands for any text.
func anyText(glob, s string) bool {
	star, from := -1, 0 // the last * and where its text began
	g, i := 0, 0
	for i < len(s) {
		switch {
		case g < len(glob) && glob[g] == '*':
			star, from = g, i
			g++
		case g < len(glob) && glob[g] == s[i]:
			g++
			i++
		case star >= 0:
			from++
			g, i = star+1, from
		default:
			return false
		}
	}
	return strings.Trim(glob[g:], "*") == ""
}

// boundary stands between two arguments. No argument that a system can run holds it.
const boundary = "\x00"

// arguments reports whether glob matches an argument list. A blank in it is the
// boundary between two arguments and nothing else; * is any text, across boundaries
// too; " *" at the end also matches where no further argument is.
func arguments(glob string, args []string) bool {
	if glob == "" {
		return len(args) == 0 // [""] is not []
	}
	glob, joined := strings.ReplaceAll(glob, " ", boundary), strings.Join(args, boundary)
	if head, ok := strings.CutSuffix(glob, boundary+"*"); ok && (head == "" && len(args) == 0 || head != "" && anyText(head, joined)) {
		return true
	}
	return anyText(glob, joined)
}

// tokens of a path glob, beside the literal bytes.
const (
	tokenStar = -1 // any text without /
	tokenAny  = -2 // any text
	tokenDirs = -3 // nothing, or any text that ends in /
)

// tokens splits a path glob. * stops at /, ** does not; **/ at the beginning of a
// segment also stands for no directory at all, as in .gitignore.
func tokens(glob string) []int {
	var out []int
	for i := 0; i < len(glob); {
		if glob[i] != '*' {
			out = append(out, int(glob[i]))
			i++
			continue
		}
		stars := len(glob[i:]) - len(strings.TrimLeft(glob[i:], "*"))
		begins := i == 0 || glob[i-1] == '/'
		i += stars
		switch {
		case stars == 1:
			out = append(out, tokenStar)
		case begins && i < len(glob) && glob[i] == '/':
			if i++; len(out) == 0 || out[len(out)-1] != tokenDirs {
				out = append(out, tokenDirs)
			}
		default:
			out = append(out, tokenAny)
		}
	}
	return out
}

// anyPath reports whether a path glob matches all of a cleaned path. ? and [ ] are
// ordinary characters.
func anyPath(glob, name string) bool {
	ts := tokens(glob)
	at := make([]bool, len(ts)+1) // the tokens that matching may have got to
	next := make([]bool, len(ts)+1)
	enter(ts, at, 0)
	for i := range len(name) {
		clear(next)
		for k, t := range ts {
			if !at[k] {
				continue
			}
			switch {
			case t == tokenAny, t == tokenStar && name[i] != '/':
				enter(ts, next, k)
			case t == tokenDirs:
				if next[k] = true; name[i] == '/' {
					enter(ts, next, k+1)
				}
			case t == int(name[i]):
				enter(ts, next, k+1)
			}
		}
		at, next = next, at
	}
	return at[len(ts)]
}

// enter marks token k and, where it may stand for nothing, what follows it.
func enter(ts []int, at []bool, k int) {
	at[k] = true
	for ; k < len(ts) && ts[k] < 0; k++ {
		at[k+1] = true
	}
}
