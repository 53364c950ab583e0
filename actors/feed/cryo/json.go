package cryo

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
)

// eachObject reads rows from a JSON array of objects, or from an object a line.
func eachObject(path string, columns []column, do func([]cell) error) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()

	r := bufio.NewReaderSize(f, 1<<20)
	first, _ := r.Peek(1) // the decoder tells why there is nothing
	dec := json.NewDecoder(r)
	isArray := len(first) == 1 && first[0] == '['
	if isArray {
		if _, err := dec.Token(); err != nil {
			return err
		}
	}

	cells := make([]cell, len(columns))
	for dec.More() {
		var row map[string]json.RawMessage
		if err := dec.Decode(&row); err != nil {
			return err
		}
		for i, c := range columns {
			raw, ok := row[c.name]
			if !ok && !c.optional {
				return fmt.Errorf("it has no column %s; wanted are %s", c.name, names(columns))
			}
			if cells[i], err = jsonCell(raw); err != nil {
				return fmt.Errorf("column %s: %w", c.name, err)
			}
		}
		if err := do(cells); err != nil {
			return err
		}
	}
	_, err = dec.Token() // the array's end, or the file's
	if !isArray && errors.Is(err, io.EOF) {
		return nil
	}
	return err
}

func jsonCell(raw json.RawMessage) (c cell, err error) {
	switch {
	case len(raw) == 0 || string(raw) == "null":
		c.null = true
	case raw[0] == '"':
		var s string
		err = json.Unmarshal(raw, &s)
		c.bytes, c.text = []byte(s), true
	default:
		if c.num, err = strconv.ParseUint(string(raw), 10, 64); err != nil {
			err = fmt.Errorf("%.80s is no whole number", raw)
		}
	}

	return c, err
}
