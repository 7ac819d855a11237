package completion

import (
	_ "embed"
	"fmt"
	"strings"
)

//go:embed hecate.bash
var bash string

//go:embed hecate.zsh
var zsh string

// Script is the script for a shell, "" for one that is not known.
func (g Grammar) Script(shell string) string {
	switch shell {
	case "bash":
		return g.tables() + bash
	case "zsh":
		return "#compdef hecate\n" + g.tables() + zsh
	case "fish":
		return g.fish()
	}
	return ""
}

// tables are functions that say what follows in a command, for shells that read sh.
func (g Grammar) tables() string {
	var words, flags, takes, args strings.Builder
	for _, c := range g.commands {
		entry(&words, c.path, strings.Join(c.names(), " "))
		var names []string
		for _, f := range c.flags {
			names = append(names, f.names[0])
			if f.takes != "" {
				var patterns []string
				for _, n := range f.names {
					patterns = append(patterns, quoted(c.path+" "+n))
				}
				fmt.Fprintf(&takes, "    %s) echo %s ;;\n", strings.Join(patterns, "|"), quoted(f.takes))
			}
		}
		entry(&flags, c.path, strings.Join(names, " "))
		for i, kind := range c.args {
			at := quoted(fmt.Sprintf("%s %d", c.path, i))
			if i == len(c.args)-1 {
				at = quoted(c.path+" ") + "*"
			}
			fmt.Fprintf(&args, "    %s) echo %s ;;\n", at, quoted(kind))
		}
	}
	var out strings.Builder
	for _, table := range []struct{ name, entries string }{
		{"words", words.String()}, {"flags", flags.String()}, {"takes", takes.String()}, {"args", args.String()},
	} {
		fmt.Fprintf(&out, "__hecate_%s() {\n  case $1 in\n%s  esac\n}\n\n", table.name, table.entries)
	}
	return out.String()
}

func (c command) names() []string {
	var out []string
	for _, w := range c.words {
		out = append(out, w.name)
	}
	return out
}

func entry(to *strings.Builder, path, list string) {
	if list != "" {
		fmt.Fprintf(to, "    %s) echo %s ;;\n", quoted(path), quoted(list))
	}
}

func quoted(s string) string { return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'" }

// fish is a list of rules, each with the command that it holds in.
func (g Grammar) fish() string {
	var out strings.Builder
	out.WriteString("function __hecate_words\n  switch \"$argv\"\n")
	for _, c := range g.commands {
		if len(c.words) > 0 {
			fmt.Fprintf(&out, "    case %s\n      string split ' ' %s\n", fishQuoted(c.path), fishQuoted(strings.Join(c.names(), " ")))
		}
	}
	out.WriteString(fishFunctions)
	for _, c := range g.commands {
		when := "-n " + fishQuoted("__hecate_at "+c.path)
		for _, w := range c.words {
			fmt.Fprintf(&out, "complete -c hecate %s -a %s -d %s\n", when, w.name, fishQuoted(w.help))
		}
		for _, f := range c.flags {
			fmt.Fprintf(&out, "complete -c hecate %s -l %s", when, strings.TrimPrefix(f.names[0], "--"))
			for _, short := range f.names[1:] {
				fmt.Fprintf(&out, " -s %s", strings.TrimPrefix(short, "-"))
			}
			fmt.Fprintf(&out, " -d %s%s\n", fishQuoted(f.help), fishTakes(f.takes, " -x"))
		}
		done := map[string]bool{}
		for _, kind := range c.args {
			if rule := fishTakes(kind, ""); kind != Any && !done[kind] {
				done[kind] = true
				fmt.Fprintf(&out, "complete -c hecate %s%s\n", when, rule)
			}
		}
	}
	return out.String()
}

// fishTakes is the part of a rule that says what a value can be.
func fishTakes(kind, required string) string {
	list, isList := values(kind)
	switch {
	case kind == "":
		return ""
	case isList:
		return required + " -a " + fishQuoted(strings.Join(list, " "))
	case kind == File:
		return strings.Replace(required, "x", "r", 1) + " -F"
	case kind == Dir:
		return required + " -a '(__fish_complete_directories)'"
	case kind == Any:
		return required
	}
	return required + " -a '(__hecate_ids " + kind + ")'"
}

func fishQuoted(s string) string {
	return "'" + strings.NewReplacer(`\`, `\\`, `'`, `\'`).Replace(s) + "'"
}

const fishFunctions = `  end
end

function __hecate_path
  set -l at
  for word in (commandline -opc)[2..-1]
    if contains -- $word (__hecate_words $at)
      set -a at $word
    end
  end
  echo "$at"
end

function __hecate_at
  test (__hecate_path) = "$argv"
end

function __hecate_ids
  set -l words (commandline -opc)
  for line in (command $words[1] complete $argv[1] 2>/dev/null </dev/null)
    if not contains -- (string split -f1 \t $line) $words # it is named already
      echo $line
    end
  end
end

complete -c hecate -f
`
