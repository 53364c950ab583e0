// Package edge is the HTTP face: requests in, rows of the published picture
// out. A request is served in one straight line (match, key, burst,
// parameters, units, handler, units again), and everything that shared state
// is to it stands behind one atomic load.
package edge
