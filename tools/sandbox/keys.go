package sandbox

import (
	"fmt"
	"strings"
)

// lineMax is how long a line on a terminal device may be, in bytes, with its end: of a longer
// one the system drops what comes before the end, so that another command would be run than
// the one that was looked at.
const lineMax = 4095

// keys is an input of a terminal device as the program behind it gets it. The device and the
// program turn some characters into something else: those that end a line or a program are
// known, and others are not let through, because nobody can tell what a line becomes that
// they edit.
type keys struct {
	pieces []string // the text, cut where an interrupt may make the program forget what it has
	line   int      // bytes of the last line, if that is not ended
}

// Characters that a terminal device acts on.
const (
	keyInterrupt = 0x03 // ^C
	keyEnd       = 0x04 // ^D: what is there goes to the program as it is
	keySuspend   = 0x1a // ^Z
	keyQuit      = 0x1c // ^\
)

// pressed reads an input that begins after so many bytes of a line.
func pressed(input string, line int) (keys, error) {
	k := keys{line: line}
	var piece strings.Builder
	for i := range len(input) {
		switch c := input[i]; {
		case c == '\n', c == '\r': // the device makes one of the other
			piece.WriteByte('\n')
			k.line = 0
			continue
		case c == keyInterrupt, c == keyQuit, c == keySuspend:
			k.pieces = append(k.pieces, piece.String())
			piece.Reset()
		case c == keyEnd:
		case c < ' ', c == 0x7f:
			return keys{}, fmt.Errorf("the control character %#02x edits the line on a terminal device, so the input cannot be checked; "+
				"write whole lines, with blanks for tabs, and of control characters only ^C, ^D, ^Z and ^\\", c)
		default:
			piece.WriteByte(c)
		}
		if k.line++; k.line >= lineMax {
			return keys{}, fmt.Errorf("a line on a terminal device has at most %d bytes; write a file and run that", lineMax)
		}
	}
	k.pieces = append(k.pieces, piece.String())
	return k, nil
}
