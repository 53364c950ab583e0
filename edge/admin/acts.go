package admin

import (
	"net/http"
	"strconv"

	"tidemark/rankings"
	"tidemark/storage/registry"
)

// acts say in the log what each administering request has done.
var acts = map[string]string{
	"POST /accounts":                "account created",
	"POST /accounts/{name}/suspend": "account suspended",
	"POST /accounts/{name}/resume":  "account resumed",
	"POST /accounts/{name}/plan":    "account moved to another plan",
	"POST /keys":                    "key issued",
	"POST /keys/{id}/revoke":        "key revoked",
	"POST /chains/{id}/offline":     "chain taken offline",
	"POST /chains/{id}/online":      "chain taken online",
	"POST /chains/{id}/rebuild":     "chain dropped, to be built again from its archive",
	"POST /chains/{id}/resync":      "chain dropped, to be indexed from its start",
	"POST /chains/{id}/verify":      "chain compared with its contracts",
	"POST /backup":                  "backup written",
}

// logAct logs what was done and to what. A key is named by its id.
func (s *Server) logAct(pattern string, r *http.Request, answer any) {
	message := acts[pattern]

	switch v := answer.(type) {
	case registry.AccountView:
		s.Log.Info(message, "account", v.Name, "plan", v.Plan, "status", v.Status)
	case registry.IssuedKey:
		s.Log.Info(message, "key", v.ID, "account", v.Account, "kind", v.Kind, "label", v.Label)
	case registry.KeyView:
		s.Log.Info(message, "key", v.ID, "account", v.Account, "kind", v.Kind)
	case *rankings.Verification:
		s.Log.Info(message, "chain", chainOf(r), "compared", v.Compared, "different", v.Different)
	case BackupView:
		s.Log.Info(message, "directory", v.Dir)
	default:
		s.Log.Info(message, "chain", chainOf(r))
	}
}

// chainOf is the chain of a request that was done, a number as in all lines of the log.
func chainOf(r *http.Request) uint64 {
	id, _ := strconv.ParseUint(r.PathValue("id"), 10, 64) // findChain has read it
	return id
}
