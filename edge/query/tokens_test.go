package query

import (
	"strings"
	"testing"

	"tidemark/rankings"
)

func TestTokens(t *testing.T) {
	f := func(raw, printed string, want rankings.TokenQuestion) {
		t.Helper()
		got, err := chains.Tokens([]byte(raw))
		if err != nil || got != want {
			t.Errorf("%q: got %+v, %v; want %+v", raw, got, err, want)
		}
		if again := string(AppendTokens([]byte("?"), &got)); again != "?"+printed {
			t.Errorf("%q prints as %s; want %s", raw, again, printed)
		}
	}

	f("", "", rankings.TokenQuestion{Page: 1, Limit: 20})
	f("search=&limit=20", "", rankings.TokenQuestion{Page: 1, Limit: 20})
	f("limit=100&page=2&search=us+d&chainId=42161", "chainId=42161&search=us%20d&page=2&limit=100",
		rankings.TokenQuestion{Chain: 42161, Search: "us d", Page: 2, Limit: 100})
}

func TestTokensRefused(t *testing.T) {
	f := func(raw, want string) {
		t.Helper()
		if got, err := chains.Tokens([]byte(raw)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: got %+v, %v; want %q", raw, got, err, want)
		}
	}

	f("chainId=5", "chainId 5 is not registered")
	f("chainId=10", "chainId 10 has no enabled protocol")
	f("search="+strings.Repeat("x", 65), "search has 65 characters; allowed are up to 64")
	f("page=0", "pages count from 1")
	f("limit=101", "limit 101 is out of range; allowed are 1 to 100")
	f("sort=tvl", `unknown parameter "sort"; allowed are chainId, search, page, limit`)
	f("search=a&search=b", "parameter search is given more than once")
}

func TestToken(t *testing.T) {
	f := func(chain, address, want string) {
		t.Helper()
		id, a, err := chains.Token([]byte(chain), []byte(address))
		if want == "" && (err != nil || id != 42161 || a.String() != strings.ToLower(address)) {
			t.Errorf("%s/%s: got %d, %v, %v", chain, address, id, a, err)
		}
		if want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%s/%s: got %v; want %q", chain, address, err, want)
		}
	}

	f("42161", owner, "")
	f("5", owner, "chain 5 is not registered")
	f("10", owner, "chain 10 has no enabled protocol")
	f("x", owner, `chain "x" is not an integer`)
	f("1", pool1, "is not an address; the format is 0x and 40 hex digits")
	f("1", "USDC", `token "USDC" is not an address`)
}

func FuzzTokens(f *testing.F) {
	f.Add("chainId=1&search=a%20b+c%E2%82%AC&page=3&limit=7")
	f.Add("search=&limit=%31&&=")

	f.Fuzz(func(t *testing.T, raw string) {
		q, err := chains.Tokens([]byte(raw))
		if err != nil {
			return
		}
		printed := AppendTokens(nil, &q)
		if again, err := chains.Tokens(printed); err != nil || again != q {
			t.Errorf("%q: %+v prints as %q, which is %+v, %v", raw, q, printed, again, err)
		}
	})
}
