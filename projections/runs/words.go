package runs

import (
	"strings"

	"hecate/domain/event"
	"hecate/domain/task"
)

// Bounds of what a search looks at, in bytes.
const (
	wordsMax = 1024 // of a text
	namesMax = 256  // of a name
)

// wordsOf is what a search for a task looks at: its title, where it works, and how that
// begins which is wanted. Of a text that stands in a blob the title is all there is.
func wordsOf(d *task.Definition) string {
	parts := []string{head(d.Title, wordsMax)}
	for _, name := range []string{d.WorkingDirectory, d.Repo, d.BaseBranch, d.FilePath} {
		parts = append(parts, head(name, namesMax))
	}
	for _, text := range []event.Text{d.Prompt, d.ShellCommand, d.GitCommand} {
		parts = append(parts, head(text.String(), wordsMax))
	}
	return plain(strings.Join(parts, "\n"))
}

// plain is a text as searches compare it: without case, and with single spaces.
func plain(s string) string {
	s = strings.ReplaceAll(strings.ToValidUTF8(s, "\uFFFD"), "\x00", "\uFFFD") // as in the rows
	return strings.Join(strings.Fields(strings.ToLower(s)), " ")
}

// head is at most so many bytes of the beginning. A character that is cut is dropped.
func head(s string, most int) string {
	if len(s) <= most {
		return s
	}
	return strings.ToValidUTF8(s[:most], "")
}
