package main

import (
	"regexp"
	"strings"
)

// plainWord is what no shell reads as anything but itself.
var plainWord = regexp.MustCompile(`^[A-Za-z0-9_@%+=:,./-]+$`)

// shellWord quotes a text so that a shell reads it as one word. Every command that is shown
// goes through it, so that it can be pasted, whatever directories are called.
func shellWord(text string) string {
	if plainWord.MatchString(text) {
		return text
	}
	return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'"
}
