package script

import (
	"fmt"
	"strconv"
	"strings"
)

// Line is a command of a script, with its expected output.
type Line struct {
	Where string // file:line
	Text  string
	Words []string
	Want  []string // the lines after it that begin with ">"
}

// Read splits a script into lines. A "#" begins a comment.
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
			return nil, fmt.Errorf("%s:%d: expected output before the first command", name, n+1)
		default:
			last := &lines[len(lines)-1]
			last.Want = append(last.Want, strings.TrimSpace(want))
		}
	}

	return lines, nil
}

// Repeat returns the lines that a line stands for: the line itself, unless it
// begins with "times".
func Repeat(line string) (lines []string, err error) {
	rest, ok := strings.CutPrefix(line, "times ")
	if !ok {
		return []string{line}, nil
	}

	count, rest, _ := strings.Cut(strings.TrimSpace(rest), " ")
	n, err := strconv.Atoi(count)
	if err != nil {
		return nil, fmt.Errorf("times %q is not a number", count)
	}

	for range n {
		for each := range strings.SplitSeq(rest, "|") {
			lines = append(lines, strings.TrimSpace(each))
		}
	}

	return lines, nil
}
