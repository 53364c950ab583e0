// Package docs holds the guides, as they are written. The pages made of them
// are in edge/ui; every code block is run by a test.
package docs

import "embed"

// Files are the guides, one file each.
//
//go:embed *.md
var Files embed.FS
