package main

import (
	"fmt"
	"math"
	"reflect"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"tidemark/rankings/market"
)

// A setting is one leaf of the Config: its name, where its value stands, and
// what is allowed.
type setting struct {
	name  string // as in limits.total-cap
	about string
	value reflect.Value
}

// settingsOf lists the leaves of a table in the order of its fields. Arrays of
// tables are not among them, nor fields that are marked as no setting.
func settingsOf(prefix string, table reflect.Value) []setting {
	var list []setting
	for i := range table.NumField() {
		field, value := table.Type().Field(i), table.Field(i)
		name := prefix + settingName(field.Name)
		switch {
		case field.Tag.Get("toml") == "-":
		case field.Anonymous:
			list = append(list, settingsOf(prefix, value)...)
		case isTable(value):
			list = append(list, settingsOf(name+".", value)...)
		case isArrayOfTables(value):
		default:
			list = append(list, setting{name: name, about: field.Tag.Get("about"), value: value})
		}
	}

	return list
}

// settingName spells a field's name as a setting: TotalCap is total-cap, and
// MaxAPIKeys is max-api-keys.
func settingName(field string) string {
	var name []rune
	letters := []rune(field)
	for i, r := range letters {
		upper := unicode.IsUpper(r)
		ends := i > 0 && !unicode.IsUpper(letters[i-1])
		begins := i > 0 && i+1 < len(letters) && !unicode.IsUpper(letters[i+1])
		if upper && (ends || begins) {
			name = append(name, '-')
		}
		name = append(name, unicode.ToLower(r))
	}
	return string(name)
}

func isTable(v reflect.Value) bool {
	return v.Kind() == reflect.Struct && v.Type() != reflect.TypeFor[time.Time]()
}

func isArrayOfTables(v reflect.Value) bool {
	return v.Kind() == reflect.Slice && v.Type().Elem().Kind() == reflect.Struct
}

// variable is the setting's name in the environment.
func (s setting) variable() string {
	return envPrefix + strings.ToUpper(strings.NewReplacer(".", "_", "-", "_").Replace(s.name))
}

// set reads a value as the file gives it (a string, bool, int64, float64,
// time or array of those) or as text from the environment or a flag.
func (s setting) set(raw any) error {
	if text, ok := raw.(string); ok {
		return s.setText(text)
	}

	switch v := raw.(type) {
	case bool:
		if s.value.Kind() == reflect.Bool {
			s.value.SetBool(v)
			return nil
		}
	case int64:
		return s.setInt(v)
	case float64:
		if s.value.Kind() == reflect.Float64 && isAmount(v) {
			s.value.SetFloat(v)
			return nil
		}
	case time.Time:
		if s.value.Type() == reflect.TypeFor[time.Time]() && hasOffset(v) {
			s.value.Set(reflect.ValueOf(v.UTC()))
			return nil
		}
	case []any:
		if s.value.Kind() == reflect.Slice {
			return s.setList(v)
		}
	}

	return fmt.Errorf("%s is %s; %s", s.name, shownValue(raw), s.allowed())
}

// shownValue is a value of a wrong type as a message shows it. Addresses can hold a provider's
// key, and messages are logged.
func shownValue(raw any) string {
	if at, ok := raw.(time.Time); ok && !hasOffset(at) {
		return at.Format("2006-01-02T15:04:05") + " without a time zone"
	}
	text := fmt.Sprint(raw)
	if strings.Contains(text, "://") {
		return "a list or table with an address"
	}
	return text
}

// hasOffset reports whether a time of the file says its time zone. TOML's local times and dates
// do not: they are other times on other machines.
func hasOffset(t time.Time) bool { return !strings.HasSuffix(t.Location().String(), "-local") }

func (s setting) setInt(v int64) error {
	switch s.value.Kind() {
	case reflect.Float64:
		if v >= 0 {
			s.value.SetFloat(float64(v))
			return nil
		}
	case reflect.Int, reflect.Int64:
		isDuration := s.value.Type() == reflect.TypeFor[time.Duration]()
		if v == 0 || v > 0 && !isDuration {
			s.value.SetInt(v)
			return nil
		}
	case reflect.Uint64:
		if v >= 0 {
			s.value.SetUint(uint64(v))
			return nil
		}
	}

	return fmt.Errorf("%s is %d; %s", s.name, v, s.allowed())
}

func (s setting) setList(raw []any) error {
	list := reflect.MakeSlice(s.value.Type(), len(raw), len(raw))
	for i, v := range raw {
		item := setting{name: fmt.Sprintf("%s[%d]", s.name, i), value: list.Index(i)}
		if id, ok := v.(int64); ok && item.value.Kind() == reflect.String {
			v = strconv.FormatInt(id, 10) // a chain's id among words
		}
		if err := item.set(v); err != nil {
			return err
		}
	}
	s.value.Set(list)
	return nil
}

func (s setting) setText(text string) error {
	parsed, err := parseAs(s.value.Type(), text)
	if err != nil {
		allowed := s.allowed()
		if s.value.Kind() == reflect.Slice {
			allowed = "values have commas between them here; in the file " + allowed
		}
		return fmt.Errorf("%s is %q; %s", s.name, text, allowed)
	}
	s.value.Set(parsed)
	return nil
}

func parseAs(t reflect.Type, text string) (reflect.Value, error) {
	out := reflect.New(t).Elem()
	var err error
	switch out.Interface().(type) {
	case string:
		out.SetString(text)
	case bool:
		var v bool
		v, err = strconv.ParseBool(text)
		out.SetBool(v)
	case time.Duration:
		var v time.Duration
		v, err = parseDuration(text)
		out.SetInt(int64(v))
	case time.Time:
		var v time.Time
		if text != "" {
			v, err = time.Parse(time.RFC3339, text)
		}
		out.Set(reflect.ValueOf(v.UTC()))
	case int, int64:
		var v uint64
		v, err = strconv.ParseUint(text, 10, strconv.IntSize-1)
		out.SetInt(int64(v))
	case uint64, market.ChainID:
		var v uint64
		v, err = strconv.ParseUint(text, 10, 63)
		out.SetUint(v)
	case float64:
		var v float64
		v, err = parseAmount(text)
		out.SetFloat(v)
	case market.Address:
		var v market.Address
		v, err = market.ParseAddress(text)
		out.Set(reflect.ValueOf(v))
	default:
		return parseList(t, text)
	}

	return out, err
}

// parseList reads comma-separated values.
func parseList(t reflect.Type, text string) (reflect.Value, error) {
	out := reflect.MakeSlice(t, 0, 1)
	for part := range strings.SplitSeq(text, ",") {
		if part = strings.TrimSpace(part); part == "" {
			continue
		}
		item, err := parseAs(t.Elem(), part)
		if err != nil {
			return out, err
		}
		out = reflect.Append(out, item)
	}
	return out, nil
}

func parseDuration(text string) (time.Duration, error) {
	d, err := time.ParseDuration(text)
	if err == nil && d < 0 {
		err = fmt.Errorf("negative")
	}
	return d, err
}

// parseAmount reads a number that is an amount.
func parseAmount(text string) (float64, error) {
	v, err := strconv.ParseFloat(text, 64)
	if err == nil && !isAmount(v) {
		err = fmt.Errorf("not an amount")
	}
	return v, err
}

// isAmount tells whether a number can be a setting: each is an amount, a rate or a
// percentage, so that neither a negative one nor TOML's nan and inf has a meaning.
func isAmount(v float64) bool { return v >= 0 && !math.IsInf(v, 1) }

// allowed says what a setting takes: its own range, else what its type takes.
func (s setting) allowed() string {
	for _, w := range words {
		if w.name == s.name {
			return "allowed are " + strings.Join(w.allowed, ", ")
		}
	}
	if b, bounded := boundOf(s.name); bounded {
		return b.allowed()
	}
	for _, d := range durations {
		if d.name == s.name {
			return fmt.Sprintf(`allowed is a duration such as "45s", %s`, d)
		}
	}

	switch s.value.Interface().(type) {
	case bool:
		return "allowed are true and false"
	case time.Duration:
		return `allowed is a duration such as "45s", "2m" or "0s"`
	case time.Time:
		return `allowed is a time such as 2026-01-02T15:00:00Z, or ""`
	case market.ChainID:
		return "allowed is an EVM chain id from 1 on"
	case int, int64, uint64:
		return "allowed is a whole number from 0 on"
	case float64:
		return "allowed is a number from 0 on"
	case market.Address:
		return "allowed is 0x and 40 hex digits"
	case []string:
		return `allowed is a list of texts such as ["a", "b"]`
	case []market.Address:
		return `allowed is a list of addresses such as ["0x…"], each 0x and 40 hex digits`
	}

	return "allowed is text"
}

// plain is a value as JSON has it: what is text in the file is text.
func (s setting) plain() any {
	switch v := s.value.Interface().(type) {
	case time.Duration:
		return v.String()
	case time.Time:
		return strings.Trim(s.text(), `"`)
	case market.Address:
		return v.String()

	case []string, []market.Address:
		list := []any{}
		for i := range s.value.Len() {
			list = append(list, setting{value: s.value.Index(i)}.plain())
		}
		return list
	default:
		return v
	}
}

// text prints a value as the file would give it.
func (s setting) text() string {
	switch v := s.value.Interface().(type) {
	case string:
		return quoteText(v)
	case time.Duration:
		return quoteText(v.String())
	case time.Time:
		if v.IsZero() {
			return `""`
		}
		return v.Format(time.RFC3339)
	case market.Address:
		return quoteText(v.String())

	case []string, []market.Address:
		var parts []string
		for i := range s.value.Len() {
			parts = append(parts, setting{value: s.value.Index(i)}.text())
		}
		return "[" + strings.Join(parts, ", ") + "]"
	case float64:
		return strconv.FormatFloat(v, 'f', -1, 64)
	default:
		return fmt.Sprint(v)
	}
}

// quoteText quotes a text as TOML 1.0 does, which lacks some escapes of Go, such as \x01.
func quoteText(text string) string {
	quoted := []byte{'"'}
	for _, r := range text {
		switch {
		case r == '"' || r == '\\':
			quoted = append(quoted, '\\', byte(r))
		case strconv.IsPrint(r):
			quoted = utf8.AppendRune(quoted, r)
		case r <= math.MaxUint16:
			quoted = fmt.Appendf(quoted, `\u%04x`, r)
		default:
			quoted = fmt.Appendf(quoted, `\U%08x`, r)
		}
	}

	return string(append(quoted, '"'))
}
