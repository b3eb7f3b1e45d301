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

// LogLines returns the lines of a daemon's log, as far back as Log goes, since the running daemon started. Lines in
// another format are skipped.
func (h *Host) LogLines(daemon string) ([]LogLine, error) {
	return Derive(h, daemon, func() ([]LogLine, error) {
		text, err := h.Log(daemon)
		if err != nil {
			return nil, err
		}
		return ParseLog(text), nil
	})
}

// ParseLog parses a log from the daemon's last start on.
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
		// A daemon's first line has number 1; a log that was only reopened continues counting.
		if parts[1] == "00001" && !strings.Contains(l.Module, "(") {
			lines = lines[:0]
		}
		lines = append(lines, l)
	}
	return lines
}
