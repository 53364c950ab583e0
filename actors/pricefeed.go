package actors

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"os"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"tidemark/actors/feed/endpoint"
	"tidemark/rankings/market"
	"tidemark/rankings/value"
)

const (
	maxPriceFeedBytes = 32 << 20         // a few hundred thousand tokens
	priceFeedTimeout  = 10 * time.Second // for one read
)

// PriceFeed regularly reads an independent source of prices: a JSON object of
// "chainId:address" to USD, in a file or at a URL. After a failed read the previous
// prices stay, with their time.
type PriceFeed struct {
	File, URL string
	Every     time.Duration
	Log       *slog.Logger

	prices atomic.Pointer[map[market.ChainID][]value.FeedPrice]
}

// Run reads until ctx ends.
func (f *PriceFeed) Run(ctx context.Context) {
	for {
		if err := f.read(ctx); err != nil && ctx.Err() == nil {
			f.Log.Warn("cannot read the price feed", "error", err)
		}
		select {
		case <-time.After(f.Every):
		case <-ctx.Done():
			return
		}
	}
}

// Of returns the prices of a chain. The caller must not change them.
func (f *PriceFeed) Of(id market.ChainID) []value.FeedPrice {
	if all := f.prices.Load(); all != nil {
		return (*all)[id]
	}
	return nil
}

func (f *PriceFeed) read(ctx context.Context) error {
	text, asOf, err := f.fetch(ctx)
	if err != nil {
		return err
	}
	prices, err := parsePrices(text, asOf.Unix())
	if err != nil {
		return err
	}
	f.prices.Store(&prices)
	return nil
}

// fetch returns the text and the time of its last change, according to the file
// system or the server.
func (f *PriceFeed) fetch(ctx context.Context) (text []byte, asOf time.Time, err error) {
	if f.File != "" {
		return f.readFile()
	}

	text, asOf, err = f.download(ctx)
	if failed := new(url.Error); errors.As(err, &failed) {
		err = failed.Err // without the address, which can hold a key
	}
	if err != nil {
		return nil, asOf, fmt.Errorf("prices.url: %w", err)
	}
	return text, asOf, nil
}

func (f *PriceFeed) readFile() (text []byte, asOf time.Time, err error) {
	info, err := os.Stat(f.File)
	if err != nil {
		return nil, asOf, err
	}
	if info.Size() > maxPriceFeedBytes {
		return nil, asOf, fmt.Errorf("%s has %d bytes; at most %d are allowed",
			f.File, info.Size(), maxPriceFeedBytes)
	}
	text, err = os.ReadFile(f.File)
	return text, info.ModTime(), err
}

func (f *PriceFeed) download(ctx context.Context) (text []byte, asOf time.Time, err error) {
	ctx, cancel := context.WithTimeout(ctx, priceFeedTimeout)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, f.URL, nil)
	if err != nil {
		return nil, asOf, err
	}
	client := http.Client{CheckRedirect: endpoint.SameHost}
	answer, err := client.Do(request)
	if err != nil {
		return nil, asOf, err
	}
	defer answer.Body.Close()
	if answer.StatusCode != http.StatusOK {
		return nil, asOf, fmt.Errorf("the server answers %s", answer.Status)
	}

	asOf, err = http.ParseTime(answer.Header.Get("Last-Modified"))
	if err != nil {
		asOf = time.Now()
	}
	text, err = io.ReadAll(io.LimitReader(answer.Body, maxPriceFeedBytes+1))
	if len(text) > maxPriceFeedBytes {
		err = fmt.Errorf("the server answers more than %d bytes", maxPriceFeedBytes)
	}
	return text, asOf, err
}

// parsePrices refuses the whole text if one entry is not a price: an older list is
// better than half of a list.
func parsePrices(text []byte, asOf int64) (map[market.ChainID][]value.FeedPrice, error) {
	entries, err := parseEntries(text)
	if err != nil {
		return nil, fmt.Errorf(`not an object of "chainId:address" to USD: %w`, err)
	}

	type tokenOf struct {
		chain market.ChainID
		token market.Address
	}
	known := map[tokenOf]bool{}
	prices := map[market.ChainID][]value.FeedPrice{}
	for _, e := range entries {
		chain, token, err := parsePriceKey(e.key)
		if err != nil {
			return nil, err
		}
		if e.usd == nil {
			return nil, fmt.Errorf("the price of %q is null; leave out what has none", e.key)
		}
		if *e.usd < 0 { // JSON has no infinity
			return nil, fmt.Errorf("the price of %q is %g; it must be 0 or more", e.key, *e.usd)
		}
		if known[tokenOf{chain, token}] {
			return nil, fmt.Errorf("%d:%s has two prices; it must have one", chain, token)
		}
		known[tokenOf{chain, token}] = true
		prices[chain] = append(prices[chain], value.FeedPrice{Token: token, Usd: *e.usd, AsOf: asOf})
	}
	return prices, nil
}

// priceEntry is a member of the object; usd is nil if it is null.
type priceEntry struct {
	key string
	usd *float64
}

// parseEntries returns all members of a JSON object, in its order. A map would have the last
// of those that have the same key.
func parseEntries(text []byte) (entries []priceEntry, err error) {
	in := json.NewDecoder(bytes.NewReader(text))
	if first, err := in.Token(); err != nil {
		return nil, err
	} else if first != json.Delim('{') {
		return nil, errors.New("it does not begin with {")
	}

	for in.More() {
		key, err := in.Token()
		if err != nil {
			return nil, err
		}
		e := priceEntry{key: key.(string)} // the decoder accepts no other key
		if err := in.Decode(&e.usd); err != nil {
			return nil, fmt.Errorf("%.80q: %w", e.key, err)
		}
		entries = append(entries, e)
	}

	if _, err := in.Token(); err != nil { // the closing brace
		return nil, err
	}
	if _, err := in.Token(); err != io.EOF {
		return nil, errors.New("something follows it")
	}
	return entries, nil
}

func parsePriceKey(key string) (market.ChainID, market.Address, error) {
	id, address, ok := strings.Cut(key, ":")
	chain, err := strconv.ParseUint(id, 10, 63)
	token, bad := market.ParseAddress(address)
	if !ok {
		err = errors.New("no colon")
	}
	if err = errors.Join(err, bad); err != nil {
		return 0, token, fmt.Errorf("%.80q is not chainId:address: %w", key, err)
	}
	return market.ChainID(chain), token, nil
}
