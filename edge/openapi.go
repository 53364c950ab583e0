package edge

import _ "embed"

// openAPI is the OpenAPI document, which describes exactly what is served.
//
//go:embed openapi.json
var openAPI []byte
