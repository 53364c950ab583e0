package main

import (
	"testing"
	"time"

	"tidemark/rankings/market"
)

const twoEndpoints = `
feed = "rpc"
[[chains]]
id = 42161
enabled = false
[[chains]]
id = 43114
enabled = false
[[chains]]
id = 1
decimals = ["0xdac17f958d2ee523a2206206994597c13d831ec7=7"]
[[chains.endpoints]]
name = "own"
url = "http://127.0.0.1:8545"
roles = ["live"]
timeout = "3s"
[[chains.endpoints]]
name = "bought"
url = "https://127.0.0.1/key"
roles = ["backfill", "fallback"]
requests-per-second = 25
compute-units-per-second = 500
`

func TestEndpoints(t *testing.T) {
	l, err := loadText(t, twoEndpoints)
	if err != nil {
		t.Fatal(err)
	}
	list := l.Chains[0].endpoints()
	if len(list) != 2 {
		t.Fatalf("endpoints %+v", list)
	}
	own, bought := list[0], list[1]
	if own.Name != "own" || own.Timeout != 3*time.Second || len(own.Roles) != 1 {
		t.Errorf("first endpoint %+v", own)
	}

	if bought.RequestsPerSecond != 25 || bought.ComputeUnitsPerSecond != 500 || len(bought.Roles) != 2 {
		t.Errorf("second endpoint %+v", bought)
	}

	decimals, err := l.Chains[0].decimals()
	usdt, _ := market.ParseAddress("0xdac17f958d2ee523a2206206994597c13d831ec7")
	if err != nil || decimals[usdt] != 7 {
		t.Errorf("decimals %v, %v", decimals, err)
	}
}

func TestEndpointsRefused(t *testing.T) {
	f := func(text, want string) {
		t.Helper()
		checkRefused(t, "[[chains]]\nid = 1\n"+text, want)
	}

	f("[[chains.endpoints]]\nurl = 5", "tidemark.toml:4: chains[0].endpoints[0].url is 5; allowed is text")
	f("[[chains.endpoints]]\ncolour = 5", "tidemark.toml:4: unknown key chains[0].endpoints[0].colour")
	f("[[chains.endpoints]]\nurl = \"ftp://x\"", "chain 1, endpoint 1: url is not an http, https, ws or wss")
	f("[[chains.endpoints]]\nurl = \"http://x\"\nroles = [\"best\"]",
		`chain 1, endpoint 1: role "best"; allowed are backfill, live, fallback`)
	f("rpc = [\"http://x\"]\n[[chains.endpoints]]\nurl = \"http://x\"", "give one of them")
	f("[[chains.endpoints]]\nname = \"a\"\nurl = \"http://x\"\n[[chains.endpoints]]\nname = \"a\"\nurl = \"http://y\"",
		`endpoint 2: the name "a" is that of endpoint 1 too`)
	f("[[chains.endpoints]]\nurl = \"http://x\"\n[[chains.endpoints]]\nname = \"b\"",
		"tidemark.toml:5: chain 1, endpoint 2: url is not") // not given: the line of its table
	f(`decimals = ["0x12=6"]`, `chain 1: decimals has "0x12=6"; allowed is "0x…=N"`)
	f(`decimals = ["0xdac17f958d2ee523a2206206994597c13d831ec7=99"]`, "a number from 0 to 36")
}
