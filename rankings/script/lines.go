package script

import (
	"fmt"
	"strconv"
	"strings"
)

// Line is a line that says or asks something.
type Line struct {
	Where string // file:line
	Text  string
	Words []string
	Want  []string // the lines after it that begin with ">"
}

// Read cuts a script into lines; what follows a "#" is a remark.
func Read(name, text string) (lines []Line, err error) {
	for n, raw := range strings.Split(text, "\n") {
		said, _, _ := strings.Cut(raw, "#")
		said = strings.TrimSpace(said)
		want, expected := strings.CutPrefix(said, ">")
		switch {
		case said == "":
		case !expected:
			lines = append(lines, Line{
				Where: fmt.Sprintf("%s:%d", name, n+1), Text: said, Words: strings.Fields(said),
			})
		case len(lines) == 0:
			return nil, fmt.Errorf("%s:%d: nothing was asked yet", name, n+1)
		default:
			last := &lines[len(lines)-1]
			last.Want = append(last.Want, strings.TrimSpace(want))
		}
	}

	return lines, nil
}

// Repeat returns the lines that a line stands for: itself, unless it begins
// with "times".
func Repeat(line string) (lines []string, err error) {
	rest, ok := strings.CutPrefix(line, "times ")
	if !ok {
		return []string{line}, nil
	}

	count, rest, _ := strings.Cut(strings.TrimSpace(rest), " ")
	n, err := strconv.Atoi(count)
	if err != nil {
		return nil, fmt.Errorf("times %q is no number", count)
	}

	for range n {
		for each := range strings.SplitSeq(rest, "|") {
			lines = append(lines, strings.TrimSpace(each))
		}
	}

	return lines, nil
}
