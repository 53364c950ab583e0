// Package docs holds the guides in Markdown. edge/ui has the pages that are built
// from them. A test runs every code block.
package docs

import "embed"

// Files holds the guides.
//
//go:embed *.md
var Files embed.FS
