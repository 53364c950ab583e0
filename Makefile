# Every target works in a clean clone on a machine with Go, make, gcc, Node and npm.

STATICCHECK := honnef.co/go/tools/cmd/staticcheck@v0.8.2
VERSION     := $(shell git describe --tags --always --dirty 2>/dev/null || echo unknown)
COMMIT      := $(shell git rev-parse HEAD 2>/dev/null || echo unknown)
BUILD       := go build -ldflags "-X main.version=$(VERSION) -X main.commit=$(COMMIT)"
BINARY      ?= tidemark

.DEFAULT_GOAL := help
.PHONY: $(shell sed -n 's/^\([a-z0-9-]*\):.*\#\# .*/\1/p' $(MAKEFILE_LIST))

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z0-9-]+:.*## / {printf "  %-21s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

build: ## build ./tidemark
	$(BUILD) -o $(BINARY) ./cmd/tidemark

run: build ## serve the simulated market on 127.0.0.1:8080, with data in ./data
	./tidemark serve

NATS_SERVER := out/nats-server
$(NATS_SERVER): go.mod
	go build -o $@ github.com/nats-io/nats-server/v2

CLUSTER ?= out/cluster
cluster: build $(NATS_SERVER) ## three NATS servers, three nodes and a balancer on this machine, until Ctrl-C
	@exec $(abspath $(BINARY)) bench cluster --nats-server $(NATS_SERVER) --out $(CLUSTER) $(CLUSTER_FLAGS)

# A quarter of the work of all tests: they run what documents show, check whole markets, start
# clusters, run the bench suite, and damage every table.
LONG_NAMES := TestGuides|TestCheckNotices|TestCheckFindsNothing|TestCheckScripts|TestStartWithoutServers|$\
  TestCrashKeepsOneWholeCut|TestDamageIsRepairedBySnapshot|TestMarketFlips|TestAccountsFlips|$\
  TestMissingTable|TestSimulatedRowsAddUp
LONG := ^($(LONG_NAMES))$$|^TestScripts$$/^bench$$
test: ## the tests but for the long ones, in about 3 minutes with a warm build cache
	go test -p 4 -timeout 300s -skip '$(LONG)' ./... # more packages than two cores, since some wait

test-long: ## the tests that test leaves out, in about a minute
	go test -timeout 300s -run '$(LONG)' $$(grep -rlE '^func ($(LONG_NAMES)|TestScripts)\(' \
	  --include='*_test.go' . | xargs -n 1 dirname | sort -u) # others would be linked for nothing

lint: ui-check ## formatting, vet, staticcheck, structure, and the committed pages
	@test -z "$$(gofmt -l .)" || { echo "not formatted:"; gofmt -l .; exit 1; }
	go vet ./...
	go run $(STATICCHECK) ./...
	go test -count=1 -run 'TestFloors|TestTaste|TestPins' ./cmd/tidemark

# Too long under the detector, which makes them ten times as long: computations of one
# goroutine, and damage of every table, which torture-quick does.
NOT_RACED := ^(TestSimulatedRowsAddUp|TestPricesStayKnown|TestCheckFindsNothing|TestCheckScripts|$\
  TestCrashKeepsOneWholeCut|TestMissingTable|TestStandInOnAFullDisk)$$
# Of the packages each RACE_PARTS-th, from number RACE_PART on; the first is 0.
RACE_PARTS ?= 1
RACE_PART  ?= 0
race: ## the short tests under the race detector
	go list ./... | awk '(NR - 1) % $(RACE_PARTS) == $(RACE_PART)' | \
	xargs go test -short -race -skip '$(NOT_RACED)' -timeout 600s

check: lint test-long peers-test race ## lint, the long tests, those of bench/peers, and the race detector

peers-test: ## vet, staticcheck and the tests of bench/peers, which is a module of its own
	cd bench/peers && go vet ./... && go run $(STATICCHECK) ./... && go test -count=1 -timeout 300s ./...

# Packages of npm are installed when the lock file is newer than what npm notes of them.
LOCK = node_modules/.package-lock.json
%/$(LOCK): %/package-lock.json
	cd $* && npm ci --ignore-scripts --silent
	touch $@

ui: edge/ui/$(LOCK) ## build the pages into edge/ui/dist, which is committed
	cd edge/ui && npm run --silent check && node build.mjs

ui-check: edge/ui/$(LOCK) ## the committed pages are what their sources give
	cd edge/ui && npm run --silent check && node build.mjs --check

ui-test: build ui-check ## pages, guides and the TypeScript client, in a browser and against a node
	cd edge/ui && node --test --test-concurrency=2 --test-timeout=1200000 test/*.test.mjs

client-check: edge/client/ts/check/$(LOCK) ## TypeScript types of the OpenAPI document by openapi-typescript, and the package of the client, in strict programs
	cd edge/client/ts/check && npm run --silent check

ui-pictures: build edge/ui/$(LOCK) ## make the pictures of every page in edge/ui/pictures
	cd edge/ui && node test/pictures.mjs

walks: ## 1,000 pinned walks over markets that move: 0 rows repeated, 0 missing; in about a minute
	TIDEMARK_WALKS=1000 go test -count=1 -run TestPinnedWalk -v ./edge

consistency: build ## answers against each other: frozen and live simulated markets, in about a minute
	edge/consistency/markets.sh $(BINARY)

e2e: build bench/oracle/$(LOCK) ## three chains with the real contracts, followed live, against the contracts' own answers
	cd bench/oracle && node e2e.mjs --binary ../../tidemark

e2e-faults: build bench/oracle/$(LOCK) ## providers with limits and faults: no wrong row, at the head or moving, in 4 minutes
	cd bench/oracle && node e2e-faults.mjs --binary ../../tidemark

e2e-limits: build bench/oracle/$(LOCK) ## the real contracts at their limits, and lost events found and mended, in two minutes
	cd bench/oracle && node e2e-limits.mjs --binary ../../tidemark

SEEDS ?= 1,2,3
e2e-variety: build bench/oracle/$(LOCK) ## what pools can meet, by seed, against the contracts at many heights, in 3 minutes
	cd bench/oracle && node e2e-variety.mjs --binary ../../tidemark --seeds $(SEEDS)

e2e-latency: build bench/oracle/$(LOCK) ## how long a block takes to the page, by subscription and by polling, in a minute
	cd bench/oracle && node e2e-latency.mjs --binary ../../tidemark

backfill-rate: ## events a second through a provider at 100 ms and from an archive, beside memory's; in 3 minutes
	go run ./bench/oracle/backfill

WRONG ?=
e2e-wrong: bench/oracle/$(LOCK) ## the same with six rules broken one at a time: each must be noticed
	cd bench/oracle && node e2e-wrong.mjs $(WRONG)

FUZZTIME ?= 20s
# Of the packages with fuzz targets each FUZZ_PARTS-th, from number FUZZ_PART on; the first is 0.
FUZZ_PARTS ?= 1
FUZZ_PART  ?= 0
# Go takes up to a minute by default to shorten each input that reaches new code.
FUZZ     := $(CURDIR)/out/fuzz/package -test.fuzzcachedir $(CURDIR)/out/fuzz/found \
  -test.fuzzminimizetime 1s
fuzz: ## every fuzz target for FUZZTIME (20s, or 500x for as many tries)
	@mkdir -p out/fuzz && grep -rl --include='*_test.go' --exclude-dir=node_modules '^func Fuzz' . | \
	xargs -n 1 dirname | sort -u | awk '(NR - 1) % $(FUZZ_PARTS) == $(FUZZ_PART)' | while read -r pkg; do \
	  go test -c -fuzz . -o out/fuzz/package $$pkg || exit 1; \
	  (cd $$pkg && for target in $$($(FUZZ) -test.list '^Fuzz'); do \
	    echo "$$pkg $$target"; \
	    $(FUZZ) -test.run '^$$' -test.fuzz "^$$target$$" -test.fuzztime $(FUZZTIME) || exit 1; \
	  done) || exit 1; \
	done

# The lines of the torture: a package, and which tests in it. To add a line, add a
# package here and write a test that logs "figure: …" with what it counted, and fails if
# anything was lost. TIDEMARK_TORTURE is full or quick: it picks the count; without it
# the test runs a few rounds, as part of `make test`, or skips. The quick counts of all
# lines together take at most 6 minutes on two cores.
TORTURE := \
  "./storage -run=Crash|Kill|Flips|Failing|RolledBack|ALedgerGoesOn|Damage|SetAside|Missing|Gap" \
  "./storage/accountstore -run=Crash|Flips|Failing|SetAside|Gap" \
  "./actors -run=CrashPromises|PanicIsMended|MeteringActor" \
  "./edge -run=RawCorpus|RawRequests|Generated|PanicReleases" \
  "./edge/pages -run=Collision|Admission|BusyDeepPage|LongCharts" \
  "./cmd/tidemark/torture -skip=^TestCluster"
# The lines of clusters. Their quick counts together take at most 4 minutes.
TORTURE_CLUSTER := \
  "./actors/cluster -run=AnyDamage" \
  "./actors -run=DamageIsRepairedBySnapshot" \
  "./actors/cluster/directory -run=RevocationActsEverywhere" \
  "./actors/cluster/quota -run=NeverPassed|Partition" \
  "./cmd/tidemark/torture -run=^TestCluster"
TORTURE_RUN = mkdir -p out && rm -f out/$(1).txt && for line in $(4); do set -- $$line; \
  TIDEMARK_TORTURE=$(2) go test -count=1 -timeout $(3) -v $$2 $$1 > out/$(1).part 2>&1 \
    || { cat out/$(1).part; exit 1; }; \
  cat out/$(1).part >> out/$(1).txt; sed -n 's/.*figure: //p' out/$(1).part; done; rm out/$(1).part

torture: ## crashes, kills, damage, reorganisations and failing disks; a line each with its figure
	@$(call TORTURE_RUN,torture,full,6h,$(TORTURE))
	@$(MAKE) --no-print-directory fuzz FUZZTIME=60s

torture-quick: ## a share of the same, in at most 6 minutes
	@$(call TORTURE_RUN,torture-quick,quick,400s,$(TORTURE))

torture-cluster: ## nodes, servers and links of a cluster, killed and cut; a line each with its figure; in an hour
	@$(call TORTURE_RUN,torture-cluster,full,2h,$(TORTURE_CLUSTER))

torture-cluster-quick: ## a share of the same, in at most 4 minutes
	@$(call TORTURE_RUN,torture-cluster-quick,quick,240s,$(TORTURE_CLUSTER))

SOAK ?= 2h
soak: ## a node under the usual mix for SOAK (2h): memory, descriptors and latencies, a line a window
	@TIDEMARK_TORTURE=full TIDEMARK_SOAK=$(SOAK) go test -count=1 -timeout 24h -v -run TestSoak ./cmd/tidemark/torture

BENCH_POSITIONS ?= 3000000
BENCH           := out/bench
PEERS           ?=
PIECES          := go test -run '^$$' -benchmem \
  -bench '^Benchmark(Swaps|SwapStep|Events|Admit|Hash|Position|PositionWithMetrics|PositionPlain)$$' \
  ./rankings/ledger ./storage ./storage/accounts ./edge/render
bench: build ## every scenario on three chains with BENCH_POSITIONS (3000000) in all; report in out/bench
	./tidemark bench corpus --positions $(BENCH_POSITIONS) --out $(BENCH)/corpus --reuse
	$(PIECES) -count 3 | tee $(BENCH)/pieces.txt
	./tidemark bench run --corpus $(BENCH)/corpus --figures --peers $(BENCH)/peers.ndjson \
	  --pieces $(BENCH)/pieces.txt --out $(BENCH)/run.ndjson --report $(BENCH)/report.html

bench-quick: build ## the same on a small corpus, in about two minutes
	rm -rf $(BENCH)/quick
	./tidemark bench corpus --positions 12000 --out $(BENCH)/quick/corpus
	$(PIECES) -benchtime 100ms > $(BENCH)/quick/pieces.txt
	./tidemark bench run --corpus $(BENCH)/quick/corpus --rounds 1 --length 1s --refresh 1s --refreshes 12 \
	  --pieces $(BENCH)/quick/pieces.txt --figures \
	  --out $(BENCH)/quick/run.ndjson --report $(BENCH)/quick/report.html

CLUSTER_POSITIONS ?= 1000000
bench-cluster: build $(NATS_SERVER) ## a follower beside its writer, and a cluster beside none, on CLUSTER_POSITIONS (1000000)
	$(abspath $(BINARY)) bench corpus --positions $(CLUSTER_POSITIONS) --chains 1 --out $(BENCH)/cluster-corpus --reuse
	$(abspath $(BINARY)) bench follow --nats-server $(NATS_SERVER) --corpus $(BENCH)/cluster-corpus

bench-peers: build ## the same corpus and questions in PostgreSQL, Redis and SQLite, beside a node
	./tidemark bench corpus --positions $(BENCH_POSITIONS) --out $(BENCH)/corpus --reuse
	cd bench/peers && go build -o ../../$(BENCH)/peers .
	./tidemark bench peers --corpus $(BENCH)/corpus --command $(BENCH)/peers \
	  --out $(BENCH)/peers.ndjson $(PEERS)

MUTANTS ?= --sample 400 --seed 1
mutants: ## small mistakes, one at a time: which the tests notice, by package, and each that passed
	go run ./bench/mutants $(MUTANTS)

LEDGER_CHAIN := bench/oracle/out/ledger
ledger-chain: bench/oracle/$(LOCK) ## the ledger against the real contracts, on a longer chain than the one in testdata, in a minute
	cd bench/oracle && \
	  node scenario.mjs --seed 9 --ops 1200 --port 18561 --out out/ledger --maxSeconds 240 --keep && \
	  { node export.mjs --rpc http://127.0.0.1:18561 --truth out/ledger/truth.json --out out/ledger/chain.json.gz; \
	    code=$$?; kill -INT $$(cat out/ledger/anvil.pid); exit $$code; }
	TIDEMARK_LEDGER_CHAIN=$(CURDIR)/$(LEDGER_CHAIN)/chain.json.gz go test -count=1 -timeout 120s \
	  -run 'TestChainAgainstContracts|TestHoldingsAreThoseOfThePositions' ./rankings/ledger

gobench: ## the Go benchmarks
	go test -run '^$$' -bench . -benchmem ./...

package: ## static binaries, archives and Debian packages for amd64 and arm64 in out/package
	cmd/tidemark/package/build $(VERSION)

package-test: ## install, start, upgrade, remove and purge the Debian package, as root
	cmd/tidemark/package/test

sbom: ## modules in the binary with versions and licences, as CycloneDX in out/sbom.json
	cmd/tidemark/package/sbom

reproducible: ## the same bytes from two directories, with both hashes
	cmd/tidemark/package/reproducible

telemetry-test: build ## Prometheus scrapes a node; rules, dashboard and exposition hold
	edge/telemetry/check $(BINARY)

clean: ## remove what the targets made, data included
	rm -rf tidemark data out bench/oracle/out bench/oracle/build
