package snapshot

import (
	"strings"
	"time"
)

// A LogLine is a line of a daemon's log, ovs-appctl(8) "vlog".
type LogLine struct {
	Time   time.Time
	Module string // "raft", "reconnect"
	Level  string // "INFO", "WARN", "ERR"
	Text   string
	Raw    string
}

// LogLines are the lines of a daemon's log, as far back as Log goes, since the
// daemon that runs now was started. Lines in another form are left out.
func (h *Host) LogLines(daemon string) ([]LogLine, error) {
	return Derive(h, daemon, func() ([]LogLine, error) {
		text, err := h.Log(daemon)
		if err != nil {
			return nil, err
		}
		return ParseLog(text), nil
	})
}

// ParseLog reads a log since the last time that its daemon was started.
func ParseLog(text string) []LogLine {
	var lines []LogLine
	for raw := range strings.Lines(text) {
		raw = strings.TrimRight(raw, "\n")
		parts := strings.SplitN(raw, "|", 5)
		if len(parts) < 5 {
			continue
		}
		at, err := time.Parse("2006-01-02T15:04:05.000Z", parts[0])
		if err != nil {
			continue
		}
		l := LogLine{Time: at, Module: parts[2], Level: parts[3], Text: parts[4], Raw: raw}
		// The first line of a daemon is numbered 1; a log that was only opened again goes on counting.
		if parts[1] == "00001" && !strings.Contains(l.Module, "(") {
			lines = lines[:0]
		}
		lines = append(lines, l)
	}
	return lines
}
