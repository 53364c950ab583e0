package main

import (
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"tidemark/actors/feed/rpc"
	"tidemark/rankings/market"
)

// EndpointConfig is one URL of a chain, with what its provider allows.
type EndpointConfig struct {
	Name                  string        `about:"in logs and metrics, instead of the address, which can hold a key"`
	URL                   string        `about:"http or https; ws or wss for heads only"`
	Roles                 []string      `about:"backfill, live, fallback; empty: the first two"`
	RequestsPerSecond     float64       `about:"0: no limit"`
	ComputeUnitsPerSecond float64       `about:"of a provider that counts them; 0: no limit"`
	Timeout               time.Duration `about:"of a request; 0s: 20s"`
}

// roles that an endpoint can have.
var roles = []string{string(rpc.Backfill), string(rpc.Live), string(rpc.Fallback)}

// endpoints are where a chain is read from: [[chains.endpoints]], or the plain
// list of rpc.
func (c *ChainConfig) endpoints() (list []rpc.EndpointConfig) {
	for _, address := range c.RPC {
		list = append(list, rpc.EndpointConfig{
			URL: address, RequestsPerSecond: float64(c.RequestsPerSecond),
		})
	}

	for i := range c.Endpoints {
		e := &c.Endpoints[i]
		out := rpc.EndpointConfig{
			Name: e.Name, URL: e.URL, RequestsPerSecond: e.RequestsPerSecond,
			ComputeUnitsPerSecond: e.ComputeUnitsPerSecond, Timeout: e.Timeout,
		}
		for _, r := range e.Roles {
			out.Roles = append(out.Roles, rpc.Role(r))
		}
		list = append(list, out)
	}

	return list
}

// checkEndpoints returns what is wrong with the addresses of a chain and with its decimals.
func (c *ChainConfig) checkEndpoints() (wrong []mistake) {
	if len(c.RPC) > 0 && len(c.Endpoints) > 0 {
		wrong = append(wrong, mistake{
			"rpc", fmt.Errorf("chain %d has rpc and [[chains.endpoints]]; give one of them", c.ID),
		})
	}
	for i, address := range c.RPC {
		if !isURL(address, "http", "https", "ws", "wss") {
			wrong = append(wrong, mistake{
				"rpc", fmt.Errorf("chain %d: address %d of rpc is not an http, https, ws or wss URL; "+
					"allowed is a URL with its scheme such as http://127.0.0.1:8545", c.ID, i+1),
			})
		}
	}

	for i := range c.Endpoints {
		if key, err := c.checkEndpoint(i); err != nil {
			wrong = append(wrong, mistake{fmt.Sprintf("endpoints[%d].%s", i, key), err})
		}
	}
	if _, err := c.decimals(); err != nil {
		wrong = append(wrong, mistake{"decimals", err})
	}
	return wrong
}

func (c *ChainConfig) checkEndpoint(i int) (key string, err error) {
	e := &c.Endpoints[i]
	at := fmt.Sprintf("chain %d, endpoint %d", c.ID, i+1)
	if !isURL(e.URL, "http", "https", "ws", "wss") {
		return "url", fmt.Errorf("%s: url is not an http, https, ws or wss URL", at)
	}

	for _, r := range e.Roles {
		if !slices.Contains(roles, r) {
			return "roles", fmt.Errorf("%s: role %q; allowed are %s", at, r, strings.Join(roles, ", "))
		}
	}
	for k := range c.Endpoints[:i] {
		if e.Name != "" && c.Endpoints[k].Name == e.Name {
			return "name", fmt.Errorf("%s: the name %q is that of endpoint %d too", at, e.Name, k+1)
		}
	}
	return "", nil
}

// isURL tells whether an address has a host and one of the schemes. Addresses
// can hold a provider's key, so that messages do not repeat them.
func isURL(address string, schemes ...string) bool {
	u, err := url.Parse(address)
	return err == nil && u.Host != "" && slices.Contains(schemes, u.Scheme)
}

// decimals are those of tokens that need not be asked for.
func (c *ChainConfig) decimals() (map[market.Address]uint8, error) {
	out := make(map[market.Address]uint8)
	for _, entry := range c.Decimals {
		text, number, _ := strings.Cut(entry, "=")
		token, err := market.ParseAddress(strings.TrimSpace(text))
		n, bad := strconv.ParseUint(strings.TrimSpace(number), 10, 8)
		if err != nil || bad != nil || n > market.MaxDecimals {
			return nil, fmt.Errorf(`chain %d: decimals has %q; allowed is "0x…=N", an address of 40 hex `+
				`digits and a number from 0 to %d`, c.ID, entry, market.MaxDecimals)
		}
		out[token] = uint8(n)
	}
	return out, nil
}
