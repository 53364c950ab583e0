package main

// The lies of TestCheckNotices: each is one answer that is not true.

// Rows for lies to be about.
func isOpen(r map[string]any) bool { return r["isActive"] == true && isPriced(r) }

func isClosed(r map[string]any) bool { return r["isActive"] == false && isPriced(r) }

func isPriced(r map[string]any) bool {
	metrics := r["metrics"].(map[string]any)
	return metrics["pnlUsd"] != nil && metrics["roi"] != nil && metrics["pnlCostUsd"] != nil
}

func isUnpriced(r map[string]any) bool {
	return r["metrics"].(map[string]any)["priceUnavailable"] == true
}

func isAnyPool(r map[string]any) bool {
	metrics := r["metrics"].(map[string]any)
	tvl, _ := metrics["tvlUsd"].(float64)
	volume, _ := metrics["volumeUsd24h"].(float64)
	return tvl > 1000 && volume > 0
}

func holdsToken0(r map[string]any) bool {
	inner, name := at(r, "amounts.current.amount0Raw")
	return isOpen(r) && inner[name] != "0"
}

func rowLies() []*lie {
	return []*lie{
		{rule: "fields", field: "metrics.apr", position: isOpen, change: remove("metrics.apr")},
		{rule: "fields", field: "tokenId", position: isOpen, change: longer("tokenId")},
		{rule: "fields", field: "liquidity", position: isOpen, change: set("liquidity", 5.0)},
		{rule: "amounts", field: "amounts.deposits.amount0", position: isOpen, change: longer("amounts.deposits.amount0")},
		{rule: "amounts", field: "amounts.gas.native", position: isOpen, change: longer("amounts.gas.native")},
		{rule: "usd", field: "amounts.withdrawals.valueUsd", position: isClosed, change: raise("amounts.withdrawals.valueUsd", 1)},
		{rule: "usd", field: "amounts.current.valueUsd", position: holdsToken0, change: raise("amounts.current.valueUsd", 1)},
		{rule: "usd", field: "amounts.gas.valueUsd", position: isOpen, change: raise("amounts.gas.valueUsd", 1)},
		{rule: "results", field: "metrics.pnlUsd", position: isOpen, change: raise("metrics.pnlUsd", 1)},
		{rule: "results", field: "metrics.roi", position: isOpen, change: raise("metrics.roi", 1)},
		{rule: "results", field: "metrics.apr", position: isOpen, change: raise("metrics.apr", 1)},
		{rule: "results", field: "metrics.feeApr", position: isOpen, change: raise("metrics.feeApr", 1)},
		{rule: "results", field: "metrics.underlyingValueUsd", position: isOpen, change: raise("metrics.underlyingValueUsd", 1)},
		{rule: "results", field: "metrics.pendingFeesUsd", position: isOpen, change: raise("metrics.pendingFeesUsd", 1)},
		{rule: "results", field: "metrics.pnlUsd", position: isUnpriced, change: set("metrics.pnlUsd", 0.0)},
		{rule: "markers", field: "isActive", position: isOpen, change: flip("isActive")},
		{rule: "markers", field: "metrics.inRange", position: isClosed, change: flip("metrics.inRange")},
		{rule: "markers", field: "metrics.priceUnavailable", position: isOpen, change: flip("metrics.priceUnavailable")},
		{rule: "markers", field: "tickLower", position: isClosed, change: raise("tickLower", 0.5)},
		{rule: "principal", field: "amounts.current.amount0Raw", position: holdsToken0, change: longer("amounts.current.amount0Raw")},
		{rule: "pnl at cost", field: "metrics.pnlCostUsd", position: isOpen, change: raise("metrics.pnlCostUsd", 1)},
		{rule: "range", field: "priceLower", position: isOpen, change: raise("priceLower", 0.001)},
		{rule: "range", field: "priceUpper", position: isClosed, change: set("priceUpper", nil)},
		{rule: "lifecycle", field: "timeInRange", position: isOpen, change: set("timeInRange", 1.5)},
		{rule: "lifecycle", field: "closedAtTimestamp", position: isOpen, change: set("closedAtTimestamp", 1.6e9)},
		{rule: "lifecycle", field: "closedAtTimestamp", position: isClosed, change: raise("closedAtTimestamp", 1)},
		{rule: "age", field: "openedAtTimestamp", position: isOpen, change: raise("openedAtTimestamp", -60)},
		{rule: "age", field: "metrics.ageSeconds", position: isClosed, change: raise("metrics.ageSeconds", 60)},
		{rule: "now", field: "metrics.ageSeconds", position: isOpen, change: raise("metrics.ageSeconds", 60)},
		{rule: "owner", field: "owner", position: isClosed, change: set("owner", "0x00000000000000000000000000000000000000aa")},
	}
}

func priceLies() []*lie {
	return []*lie{
		{rule: "pricing", field: "pricing.token0.source", position: isOpen, change: set("pricing.token0.source", "none")},
		{rule: "pricing", field: "pricing.token1.source", position: isOpen, change: set("pricing.token1.source", "oracle")},
		{rule: "pricing", field: "pricing.reason", position: isUnpriced, change: set("pricing.reason", nil)},
		{rule: "pricing", field: "pricing.reason", position: isOpen, change: set("pricing.reason", "no_market")},
		{rule: "position in pool", field: "currentTick", position: isClosed, change: raise("currentTick", 1)},
		{rule: "position in pool", field: "poolStats.tvlUsd", position: isOpen, change: raise("poolStats.tvlUsd", 1)},
		{rule: "position in pool", field: "token0.symbol", position: isOpen, change: set("token0.symbol", "FAKE")},
		{rule: "position in pool", field: "token0.priceUsd", position: isClosed, change: raise("token0.priceUsd", 1)},
		{rule: "position in pool", field: "pricing.token0.markets", position: isOpen, change: raise("pricing.token0.markets", 1)},
		{rule: "position in pool", field: "pricing.nativePriceUsd", position: isOpen, change: raise("pricing.nativePriceUsd", 1)},
	}
}

func poolLies() []*lie {
	return []*lie{
		{rule: "fields", field: "fee", pool: isAnyPool, change: set("fee", 8388608.0)},
		{rule: "fields", field: "token1.symbol", pool: isAnyPool, change: set("token1.symbol", "A\u202eB")},
		{rule: "pool market", field: "metrics.feeApr", pool: isAnyPool, change: raise("metrics.feeApr", 1)},
		{rule: "pool market", field: "metrics.currentPrice", pool: isAnyPool, change: raise("metrics.currentPrice", 1)},
		{rule: "pool market", field: "metrics.volumeUsd24h", pool: isAnyPool, change: raise("metrics.volumeUsd24h", 1e12)},
		{rule: "pool market", field: "metrics.feesUsd7d", pool: isAnyPool, change: raise("metrics.feesUsd7d", 1e12)},
		{rule: "pool market", field: "currentTick", pool: isAnyPool, change: raise("currentTick", 2)},
		{rule: "pricing", field: "pricing.reason", pool: isAnyPool, change: set("pricing.reason", "thin_market")},
		{rule: "pricing", field: "token0.risky", pool: isAnyPool, change: flip("token0.risky")},
		{rule: "pool counts", field: "positionsCount", pool: isAnyPool, change: raise("positionsCount", 1)},
		{rule: "pool counts", field: "holdersCount", pool: isAnyPool, change: raise("holdersCount", -1)},
		{rule: "tokens", field: "token", pool: isAnyPool, change: both(set("token0.name", "Other"), set("token1.name", "Other"))},
		{rule: "stats", field: "pools.total", path: "/v1/stats", change: raise("pools.total", 1)},
		{rule: "health", field: "asOfBlock", path: "/health", change: ofFirst("chains", raise("asOfBlock", 1))},
	}
}

// both does one change after the other.
func both(a, b func(map[string]any)) func(map[string]any) {
	return func(m map[string]any) {
		a(m)
		b(m)
	}
}

// ofFirst changes the first element of an array, ofLast the last one.
func ofFirst(path string, change func(map[string]any)) func(map[string]any) {
	return func(m map[string]any) {
		inner, name := at(m, path)
		if all, _ := inner[name].([]any); len(all) > 0 {
			change(all[0].(map[string]any))
		}
	}
}

func ofLast(path string, change func(map[string]any)) func(map[string]any) {
	return func(m map[string]any) {
		inner, name := at(m, path)
		if all, _ := inner[name].([]any); len(all) > 0 {
			change(all[len(all)-1].(map[string]any))
		}
	}
}

// without takes the first element of an array away.
func without(path string) func(map[string]any) {
	return func(m map[string]any) {
		inner, name := at(m, path)
		if all, _ := inner[name].([]any); len(all) > 0 {
			inner[name] = all[1:]
		}
	}
}

// swapped exchanges the first two elements of an array.
func swapped(path string) func(map[string]any) {
	return func(m map[string]any) {
		inner, name := at(m, path)
		if all, _ := inner[name].([]any); len(all) > 1 {
			all[0], all[1] = all[1], all[0]
		}
	}
}

// everyPositions begins the path of a list of all positions by some order.
const everyPositions = "/v1/positions?status=all&minPoolTvl=0&minValueUsd=0&includeRisky=true&sort="

func listLies() []*lie {
	return []*lie{
		{rule: "pagination", field: "pagination.total", path: everyPositions + "pnl&page=1&limit=100", change: raise("pagination.total", 1)},
		{rule: "pagination", field: "pagination.hasMore", path: everyPositions + "age&page=1&limit=100", change: flip("pagination.hasMore")},
		{rule: "pagination", field: "pagination.totalPages", path: "/v1/pools?sort=volume&page=1", change: raise("pagination.totalPages", 1)},
		{rule: "rank", field: "positions[0].rank", path: everyPositions + "underlying_value&page=1&limit=100", change: ofFirst("positions", raise("rank", 1))},
		{rule: "order", field: "positions[0]", path: everyPositions + "nft_id_desc&page=1&limit=100", change: swapped("positions")},
		{rule: "order", field: "pools[0]", path: "/v1/pools?includeRisky=true&sort=age&page=1", change: swapped("pools")},
		{rule: "row in list", field: "positions[0].metrics.pnlUsd", path: "/v1/positions?sort=pnl&page=1", change: ofFirst("positions", raise("metrics.pnlUsd", 1e-6))},
		{rule: "batch", field: "positions", path: "/v1/positions/batch?", change: swapped("positions")},
		{rule: "row in list", field: "positions[0].liquidity", path: everyPositions + "apr&page=1&limit=50", change: ofFirst("positions", longer("liquidity"))},
	}
}

func historyLies() []*lie {
	often := func(r map[string]any) bool {
		inner, name := at(r, "amounts.collectedFees.amount0Raw")
		return isClosed(r) && inner[name] != "0"
	}

	native := func(r map[string]any) bool {
		return isOpen(r) && r["token0"].(map[string]any)["isNative"] == true
	}

	const detail = "/swapdex-v4/PID$"
	lies := []*lie{
		{rule: "status", field: "status", position: isOpen, status: 404},
		{rule: "detail", field: "metrics.roi", position: isOpen, change: raise("metrics.roi", 1e-3)},
		{rule: "detail", field: "rank", position: isOpen, change: set("rank", 1.0)},
		{rule: "history", field: "transactions[1]", position: often, change: swapped("transactions")},
		{rule: "history sums", field: "amounts", position: often, change: without("transactions")},
		{rule: "history sums", field: "liquidity", position: isOpen, change: ofLast("transactions", longer("liquidityDelta"))},
		{rule: "history sums", field: "amounts.gas.nativeRaw", position: isOpen, change: ofLast("transactions", set("gasNative", "1"))},
		{rule: "entry", field: "valueUsd", position: isOpen, change: ofLast("transactions", raise("valueUsd", 1))},
		{rule: "entry", field: "gasUsd", position: native, change: ofLast("transactions", raise("gasUsd", 1))},
		{rule: "entry", field: "liquidityDelta", position: isOpen, change: ofLast("transactions", set("type", "burn"))},
		{rule: "entry", field: "amount0", position: isOpen, change: ofLast("transactions", longer("amount0"))},
		{rule: "fields", field: "fees0", position: isOpen, change: ofLast("transactions", remove("fees0"))},
		{rule: "owner", field: "owner", position: isOpen, change: ofFirst("transactions", set("to", "0x00000000000000000000000000000000000000aa"))},
		{rule: "age", field: "metrics.ageSeconds", position: isClosed, change: ofLast("transactions", raise("timestamp", 60))},
		{rule: "pnl at cost", field: "metrics.pnlCostUsd", position: isOpen, change: ofLast("transactions", raise("token0PriceUsd", 100))},
		{rule: "gas shares", field: "gasNative", change: ofLast("transactions", set("gasPrice", "7")), position: isClosed},
	}

	for _, l := range lies {
		l.path = detail
	}
	return lies
}

func chartLies() []*lie {
	const pool, position = "/v1/pools/1/swapdex-v4/POOL/charts?range=", "/v1/positions/1/swapdex-v4/PID/charts?range="
	return []*lie{
		{rule: "chart", field: "range", pool: isAnyPool, path: pool + "60d", change: set("range", "30d")},
		{rule: "chart now", field: "poolOverviewCurrent.tvlUsd", pool: isAnyPool, path: pool + "30d", change: raise("poolOverviewCurrent.tvlUsd", 1)},
		{rule: "chart now", field: "poolOverviewCurrent.feesTvlRatio", pool: isAnyPool, path: pool + "30d", change: raise("poolOverviewCurrent.feesTvlRatio", 1)},
		{rule: "chart now", field: "poolOverviewCurrent", position: isOpen, path: position + "all", change: set("poolOverviewCurrent", nil)},
		{rule: "chart now", field: "poolOverview.tvlUsd of today", pool: isAnyPool, path: pool + "all", change: ofLast("poolOverview.tvlUsd", raise("value", 1))},
		{rule: "chart now", field: "poolPrice close", pool: isAnyPool, path: pool + "all", change: ofLast("poolPrice", raise("close", 1))},
		{rule: "chart days", field: "poolPrice", pool: isAnyPool, path: pool + "all", change: without("poolPrice")},
		{rule: "chart days", field: "poolOverview.feesUsd", pool: isAnyPool, path: pool + "30d", change: ofFirst("poolOverview.feesUsd", raise("timestamp", 86400))},
		{rule: "candles", field: "poolPrice[0]", pool: isAnyPool, path: pool + "all", change: ofFirst("poolPrice", set("high", 0.0))},
		{rule: "chart rates", field: "poolOverview.feesTvlRatio", pool: isAnyPool, path: pool + "all", change: ofLast("poolOverview.feesTvlRatio", raise("value", 1))},
		{rule: "chart rates", field: "poolSeries.feeApr", pool: isAnyPool, path: pool + "90d", change: ofLast("poolSeries.feeApr", raise("value", 1))},
		{rule: "chart parts", field: "poolSeries.tvlUsd", pool: isAnyPool, path: pool + "180d", change: ofLast("poolSeries.tvlUsd", raise("value", 1))},
		{rule: "chart ranges", field: "poolOverview.volumeUsd", pool: isAnyPool, path: pool + "30d", change: ofFirst("poolOverview.volumeUsd", raise("value", 1))},
		{rule: "days in windows", field: "volumeUsd", pool: isAnyPool, path: pool + "all", change: ofLast("poolOverview.volumeUsd", raise("value", 1e12))},
		{rule: "distribution", field: "amount0", pool: isAnyPool, path: pool + "30d", change: ofLast("liquidityDistribution.bins", longer("amount0"))},
		{rule: "distribution", field: "metrics.tvlUsd", pool: isAnyPool, path: pool + "30d", change: ofLast("liquidityDistribution.bins", set("amount0", "9999999"))},
		{rule: "distribution", field: "tickLower", pool: isAnyPool, path: pool + "30d", change: ofLast("liquidityDistribution.bins", raise("tickLower", 1))},
		{rule: "distribution", field: "liquidityDistribution.tickLower", position: isOpen, path: position + "30d", change: raise("liquidityDistribution.tickLower", 1)},
		{rule: "now", field: "poolOverviewCurrent.timestamp", position: isOpen, path: position + "30d", change: raise("poolOverviewCurrent.timestamp", 1)},
		{rule: "position series", field: "positionSeries.pnlUsd", position: isOpen, path: position + "all", change: ofLast("positionSeries.pnlUsd", raise("value", 1))},
		{rule: "position series", field: "positionSeries.divergenceLossUsd", position: isClosed, path: position + "all", change: ofLast("positionSeries.divergenceLossUsd", raise("value", 1))},
		{rule: "position series", field: "positionSeries.assetValueUsd", position: isUnpriced, path: position + "all", change: ofLast("positionSeries.assetValueUsd", set("value", 0.5))},
	}
}

// hourLies are about charts by the hour. They are not told with those about days: days that
// were changed differ from all their hours.
func hourLies() []*lie {
	const hours = "/v1/pools/1/swapdex-v4/POOL/charts?range=30d&interval=1h"
	return []*lie{
		{rule: "hours in days", field: "high", pool: isAnyPool, path: hours, change: ofLast("poolPrice", raise("high", 1))},
		{rule: "hours in days", field: "volumeUsd", pool: isAnyPool, path: hours, change: ofLast("poolOverview.volumeUsd", raise("value", 1))},
	}
}

// routeLies are about the routes that add up or pick out what lists and details
// say.
func routeLies() []*lie {
	return []*lie{
		{rule: "batch", field: "positions[0].rank", path: "/v1/positions/batch?", change: ofFirst("positions", set("rank", 1.0))},
		{rule: "tokens", field: "tokens[0].tvlUsd", path: "/v1/tokens?", change: ofFirst("tokens", raise("tvlUsd", 1))},
		{rule: "tokens", field: "tokens[0].symbol", path: "/v1/tokens?", change: ofFirst("tokens", set("symbol", "FAKE"))},
		{rule: "tokens", field: "pools", path: "/v1/tokens?", change: ofLast("tokens", raise("pools", 1))},
		{rule: "token", field: "markets", path: "/v1/tokens/1/", change: ofFirst("markets", flip("used"))},
		{rule: "token", field: "risky", path: "/v1/tokens/1/0x0000000000000000000000000000000000000000", change: flip("risky")},
		{rule: "owner sums", field: "chains[0].pnlUsd", path: "/v1/owners/", change: ofFirst("chains", raise("pnlUsd", 1))},
		{rule: "owner sums", field: "total.openPositions", path: "/v1/owners/", change: raise("total.openPositions", 1)},
		{rule: "ticks", field: "liquidityNet of all ticks", pool: isAnyPool, path: "/POOL/ticks?", change: without("ticks")},
		{rule: "ticks", field: "ticks[1].tick", pool: isAnyPool, path: "/POOL/ticks?", change: swapped("ticks")},
		{rule: "ticks", field: "price", pool: isAnyPool, path: "/POOL/ticks?", change: ofFirst("ticks", raise("price", 1))},
		{rule: "ticks", field: "liquidityGross", pool: isAnyPool, path: "/POOL/ticks?", change: ofFirst("ticks", set("liquidityGross", "1"))},
		{rule: "ticks", field: "currentTick", pool: isAnyPool, path: "/POOL/ticks?", change: raise("currentTick", 1e6)},
		{rule: "batch", field: "missing", path: "/v1/positions/batch?", change: set("missing", []any{})},
		{rule: "batch", field: "metrics.tvlUsd", path: "/v1/pools/batch?", change: ofLast("pools", raise("metrics.tvlUsd", 1))},
	}
}

func explainLies() []*lie {
	const explain = "/v1/positions/1/swapdex-v4/PID/explain$"
	return []*lie{
		{rule: "list", field: "positions", path: "/v1/positions?sort=roi&page=1", change: without("positions")},
		{rule: "explain", field: "pnlUsd", position: isOpen, path: explain, change: stepNamed("pnlUsd", raise("value", 1))},
		{rule: "explain", field: "roi", position: isClosed, path: explain, change: stepNamed("roi", raise("value", 1))},
		{rule: "explain", field: "V", position: isOpen, path: explain, change: stepNamed("V", set("name", "X"))},
		{rule: "explain", field: "principal: amount1", position: isOpen, path: explain, change: stepNamed("principal", ofLast("terms", longer("raw")))},
		{rule: "explain", field: "uncollected: fees", position: isOpen, path: explain, change: stepNamed("uncollected", ofLast("terms", longer("raw")))},
		{rule: "explain", field: "deposits", position: isOpen, path: explain, change: stepNamed("deposited", ofLast("terms", longer("raw")))},
		{rule: "explain", field: "asOfBlock", position: isClosed, path: explain, change: raise("asOfBlock", 1)},
		{rule: "explain", field: "price", position: isOpen, path: explain, change: without("prices")},
		{rule: "explain", field: "markets", position: isOpen, path: explain, change: ofFirst("prices", ofFirst("markets", flip("used")))},
		{rule: "explain", field: "price of leg", position: isOpen, path: explain, change: ofLast("prices", raise("price.priceUsd", 1))},
	}
}

// stepNamed changes the step of an explanation that has a name.
func stepNamed(name string, change func(map[string]any)) func(map[string]any) {
	return func(m map[string]any) {
		for _, each := range m["steps"].([]any) {
			if s := each.(map[string]any); s["name"] == name {
				change(s)
			}
		}
	}
}
