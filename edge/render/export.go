package render

// ExportEnd is what the last line of a complete export says.
type ExportEnd struct {
	Rows        int64
	Generations string
	More        bool // the list has rows behind the last one
	Stale       bool
	AsOf        int64 // unix milliseconds of the oldest data
}

// AppendExportEnd appends the last line of a complete export.
func AppendExportEnd(dst []byte, e *ExportEnd) []byte {
	dst = integer(append(dst, `{"end":true,"rows":`...), e.Rows)
	dst = String(append(dst, `,"generation":`...), e.Generations)
	if e.More {
		dst = append(dst, `,"more":true`...)
	}
	if e.Stale {
		dst = AppendStale(dst, e.AsOf)
	}
	return append(dst, '}')
}

// AppendExportCut appends the last line of an export that ended early, and why.
func AppendExportCut(dst []byte, why string) []byte {
	return append(String(append(dst, `{"end":false,"error":`...), why), '}')
}
