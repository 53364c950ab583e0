package edge

import _ "embed"

// openAPI is the document of exactly what is served.
//
//go:embed openapi.json
var openAPI []byte
