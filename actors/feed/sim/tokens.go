package sim

import (
	"cmp"
	"strings"

	"tidemark/rankings/market"
	"tidemark/rankings/texts"
)

// token is a currency of the simulated chain, and what it is worth.
type token struct {
	meta market.TokenMeta
	asset
}

// The first tokens of every chain; its stable coins follow.
const (
	native = iota
	wrapped
	stables
)

// Symbols of tokens whose makers mean harm by them: to pages that print them
// as HTML, and to text that runs in both directions.
const (
	hostileHTML = `"O'R<script>alert(1)</script>`
	hostileBidi = "\u202eNEKOT\u202c \U0001F680\U0001F468\u200d\U0001F469\u200d\U0001F467"
)

// namedToken is a token of the cast: symbol, USD price at rest, decimals,
// share in the market's moves in thousandths, own deviation a day in ticks.
type namedToken struct {
	symbol, name string
	decimals     uint8
	usd          float64
	beta, vol    int64
}

var stableCoins = []namedToken{
	{symbol: "USDC", name: "USD Coin", decimals: 6},
	{symbol: "USDT", name: "Tether USD", decimals: 6},
	{symbol: "DAI", name: "Dai Stablecoin", decimals: 18},
}

// named are tokens that the cast of pools calls by symbol, the same on every
// chain but for their addresses.
var named = []namedToken{
	{"LINK", "ChainLink Token", 18, 14.2, 1200, 260},
	{"AAVE", "Aave Token", 18, 186, 1250, 280},
	{"WBTC", "Wrapped BTC", 8, 97_400, 800, 90},
	{"UNI", "Uniswap", 18, 8.4, 1250, 320},
	{"PEPE", "Pepe", 18, 0.0000121, 1400, 480},
	{"LDO", "Lido DAO Token", 18, 1.31, 1300, 420},
	{"GMX", "GMX", 18, 22.7, 1100, 380},
	{"EURC", "Euro Coin", 6, 1.08, 0, 35},
	{"PENDLE", "Pendle", 18, 4.35, 1300, 480},
	{"XAUt", "Tether Gold", 6, 2710, 0, 70},
	{"ARB", "Arbitrum", 18, 0.71, 1300, 380},
	{"CRV", "Curve DAO Token", 18, 0.48, 1250, 480},
	{"MKR", "Maker", 18, 1540, 1000, 330},
	{"FXN", "FXN Token", 18, 96, 1200, 520},
	{"JOE", "JoeToken", 18, 0.34, 1300, 500},

	// Priced against another token only, by the price feed only, and in whole
	// units only.
	{"stLINK", "Staked LINK", 18, 14.9, 1200, 260},
	{"LNKX", "Chain Link Index", 18, 0.031, 1200, 260},
	{"TBILL", "Tokenized Treasury Bill", 6, 104.2, 0, 1},
	{"SHARE", "Fractional Share", 0, 25, 900, 150},
	{"RUGGED", "Liquidity Locked Forever", 18, 0.02, 1000, 300},

	{"SAFEMOON9", "SafeMoon 9.0 (claim at safemoon9.example)", 9, 0.002, 0, 4},
	{"GIFT", "Visit gift-eth.example to claim 1,000 ETH", 18, 0.0000004, 1000, 2},
	{"FRESH", "Fresh Launch", 18, 0.12, 1000, 300},
	{"OUROA", "Ouroboros Alpha", 18, 3, 0, 40},
	{"OUROB", "Ouroboros Beta", 6, 40, 0, 40},
	{"OUROC", "Ouroboros Gamma", 8, 0.5, 0, 40},
	{"VOLUME", "Volume Token", 18, 1.6, 0, 20},
	{"SPLIT", "Split Opinion", 18, 6.5, 0, 4},
	{"GHOST", "Ghost of Markets Past", 18, 0.9, 1000, 200},
	{"TAXED", "Tax On Every Swap", 18, 0.6, 1000, 250},
	{"REB", "Rebasing Thing", 77, 1, 0, 50},
	{"NIL", "", 18, 2.5, 1000, 300},
	{
		hostileHTML, `<img src=x onerror=alert(1)> & "quoted" \ 'name'`,
		18, 0.07, 1000, 300,
	},
	{
		hostileBidi,
		"\u0645\u0631\u062d\u0628\u0627 \u202eright to left\u202c \x00\x01\x1b[31m\r\n\tend",
		18, 0.4, 1000, 300,
	},
	{"LOONG", "long", 18, 1.9, 1000, 300},
}

// follows names the tokens that share the path of another: what they are worth
// in it hardly moves.
var follows = map[string]string{"stLINK": "LINK", "LNKX": "LINK"}

// meta is what the chain says of the token at an address.
func (n *namedToken) meta(at market.Address) market.TokenMeta {
	meta := market.TokenMeta{
		Address: at, Symbol: texts.New(n.symbol), Name: texts.New(n.name),
	}
	meta.SetDecimals(uint64(n.decimals), true)
	switch n.symbol {
	case "NIL":
		meta.Symbol, meta.Name = 0, 0
	case "LOONG":
		meta.Symbol = texts.New("LO" + strings.Repeat("O", 997) + "NG")
		meta.Name = texts.New(strings.Repeat("A very long name. ", 56))
	}
	return meta
}

// listing collects the tokens of a chain while its pools are planned.
type listing struct {
	cfg      *settings
	tokens   []token
	bySymbol map[string]uint32
	invents  uint64
}

// newListing returns the tokens that every chain has.
func newListing(cfg *settings) *listing {
	l := &listing{cfg: cfg, bySymbol: map[string]uint32{}}
	coin := namedToken{cfg.NativeSymbol, cfg.NativeName, 18, 3_210, 1000, 0}
	if cfg.NativeUsd > 0 {
		coin.usd = cfg.NativeUsd
	}

	wrappedCoin := coin
	wrappedCoin.symbol, wrappedCoin.name = "W"+coin.symbol, "Wrapped "+coin.name
	l.add(coin, market.Address{}, cfg.NativeSymbol)
	l.add(wrappedCoin, cfg.Wrapped, cfg.NativeSymbol)

	for i, at := range cfg.Stables {
		n := stableCoins[min(i, len(stableCoins)-1)]
		n.usd, n.vol = 1, 1
		l.add(n, at, n.symbol)
	}
	l.losePeg()
	return l
}

// losePeg lets the third stable coin fall to 0.86 for a day, in the last week
// of the history, where much is traded and every chart shows it.
func (l *listing) losePeg() {
	if len(l.cfg.Stables) < 3 {
		return
	}
	span := int64(l.cfg.Days) * day
	a := &l.tokens[stables+2].asset
	a.dip, a.depegFrom, a.depegFor = 1_508_000, span-min(5*day, span/4), min(day, span/10)
}

// add appends a token whose price path belongs to the asset sign.
func (l *listing) add(n namedToken, at market.Address, sign string) uint32 {
	l.tokens = append(l.tokens, token{n.meta(at), asset{
		key: hashName(l.cfg.Seed, sign), base: ticksOf(n.usd), beta: n.beta, vol: n.vol * 1000,
	}})
	return uint32(len(l.tokens) - 1)
}

// hasToken reports whether there is a token of the cast: the third stable coin is
// missing on some chains.
func (l *listing) hasToken(symbol string) bool { return symbol != "usd2" || len(l.cfg.Stables) > 2 }

// castToken returns the token of the cast with a symbol.
func (l *listing) castToken(symbol string) uint32 {
	switch symbol {
	case "native":
		return native
	case "wrapped":
		return wrapped
	case "usd0", "usd1", "usd2":
		return stables + uint32(symbol[3]-'0')
	}
	if i, ok := l.bySymbol[symbol]; ok {
		return i
	}

	if symbol == "staked" {
		n := namedToken{
			"wst" + l.cfg.NativeSymbol, "Wrapped Staked " + l.cfg.NativeName,
			18, l.cfg.NativeUsd * 1.18, 1000, 8,
		}
		return l.add(n, l.address(n.symbol), n.symbol)
	}

	for i := range named {
		if named[i].symbol == symbol {
			l.bySymbol[symbol] = l.add(named[i], l.address(symbol), cmp.Or(follows[symbol], symbol))
			return l.bySymbol[symbol]
		}
	}
	panic("BUG: no token of the cast is called " + symbol)
}

// address returns where a token of this chain lies: another on every chain.
func (l *listing) address(sign string) (a market.Address) {
	fillBytes(a[:], hash(hashName(l.cfg.Seed, sign), uint64(l.cfg.Chain)))
	return a
}

var syllables = strings.Fields(
	"ba chi do el fu gor hy ix jup ka lum mo nex or pi qua ro su tri um vex wa xen yo zi")

// inventToken appends a token with a made-up name and temper.
func (l *listing) inventToken() uint32 {
	l.invents++
	d := dice{key: hash(l.cfg.Seed, 't', l.invents)}
	word := ""
	for range 2 + d.below(2) {
		word += syllables[d.below(uint64(len(syllables)))]
	}

	symbol := strings.ToUpper(word)
	if d.chance(150) {
		symbol += [...]string{"2.0", "AI", "INU", "DAO"}[d.below(4)]
	}
	n := namedToken{
		symbol: symbol, name: strings.ToUpper(word[:1]) + word[1:] + " Token",
		decimals: [...]uint8{18, 18, 18, 18, 18, 8, 9, 6}[d.below(8)],
		usd:      exp(d.normal() * 25), beta: 600 + int64(d.below(900)),
		vol: 200 + int64(d.below(500)),
	}

	// Two invented tokens may have one symbol, as they may on a chain.
	sign := symbol + string(rune('a'+l.invents%26)) + string(rune('a'+l.invents/26%26)) +
		string(rune('a'+l.invents/676))
	return l.add(n, l.address(sign), sign)
}
