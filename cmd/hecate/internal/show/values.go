package show

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// Cost writes micro-USD as dollars, or says that the cost is not known. A part
// that is known is named then: it is a lower bound.
func Cost(microUSD int64, known bool) string {
	switch {
	case known:
		return dollars(microUSD)
	case microUSD > 0:
		return "unknown (at least " + dollars(microUSD) + ")"
	}
	return "unknown"
}

// dollars keeps four decimals, and six where four would hide most of a small sum.
func dollars(microUSD int64) string {
	if microUSD < 1_000 && microUSD%100 != 0 {
		return fmt.Sprintf("$%d.%06d", microUSD/1_000_000, microUSD%1_000_000)
	}
	rounded := (microUSD + 50) / 100
	return fmt.Sprintf("$%d.%04d", rounded/10_000, rounded%10_000)
}

// Duration writes how long something took, as precisely as a reader needs.
func Duration(d time.Duration) string {
	switch {
	case d < 0:
		return ""
	case d < time.Minute:
		return fmt.Sprintf("%.1fs", d.Seconds())
	case d < time.Hour:
		return fmt.Sprintf("%dm%02ds", int(d.Minutes()), int(d.Seconds())%60)
	}
	return fmt.Sprintf("%dh%02dm", int(d.Hours()), int(d.Minutes())%60)
}

// Count writes a number with its noun, "1 file", "1,204 bytes".
func Count(n int64, noun string) string {
	plural := noun + "s"
	if strings.HasSuffix(noun, "y") {
		plural = strings.TrimSuffix(noun, "y") + "ies"
	} else if strings.HasSuffix(noun, "ch") {
		plural = noun + "es"
	}
	if n == 1 {
		plural = noun
	}
	digits := strconv.FormatInt(n, 10)
	for i := len(digits) - 3; i > 0 && digits[i-1] != '-'; i -= 3 {
		digits = digits[:i] + "," + digits[i:]
	}
	return digits + " " + plural
}
