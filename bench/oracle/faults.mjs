// What can be wrong with a provider: for every case its endpoints, each with the faults that provider.mjs knows and a head of
// its own, and what is expected beside equal rows. shown() is the newest block that is out.
const RANGES = {
  capacity: 'your plan has no capacity for this block range; the quota is N blocks',
  suggested: 'You can make eth_getLogs requests with up to a N block range. Based on your parameters, this block range should work: [FROM, TO]'
}

// laggard is a head of a URL behind which every second request reaches a backend that is behind by so many blocks.
const laggard = (shown, by) => n => n % 2 ? Math.max(1, shown() - by) : shown()
const frozen = (shown, at) => n => n % 3 ? shown() : Math.min(at, shown())

export function cases (shown) {
  const one = (name, faults, more = {}) => ({ name, endpoints: [{ faults }], ...more })
  const beside = (name, faults, more = {}) => ({ name, endpoints: [{ faults }, {}], ...more })
  return [
    one('honest', {}),
    one('logs and receipts come 2 s late', { late: 2000 }),
    one('the finalized block is far back, logs late', { late: 1000, finalized: 100 }),
    { name: 'a backend 30 blocks behind', endpoints: [{ head: laggard(shown, 30) }] },
    { name: 'a frozen backend', endpoints: [{ head: frozen(shown, 60) }] },
    one('short answers to eth_getLogs', { short: 0.3, finalized: 400 }),
    one('short lists of receipts', { shortReceipts: 0.4, finalized: 400 }),
    one('no eth_getBlockReceipts', { unsupported: ['eth_getBlockReceipts'], finalized: 60 }),
    one('no receipts at all, late logs', { noReceipts: true, late: 500, finalized: 60 }, { gasUnknown: true, slow: true }),
    one('429 at 25 calls a second', { rate: { perSecond: 25, after: 'seconds' } }, { rate: 25 }),
    one('429 with a date', { rate: { perSecond: 25, after: 'date' } }, { rate: 25 }),
    one('429 without a word of when', { rate: { perSecond: 25 } }, { rate: 25 }),
    one('500 compute units a second, by call', { rate: { perSecond: 500, units: true, perCall: true } }, { rate: 500 }),
    one('ranges of 10 blocks, refused with 400 and "capacity"', { range: { blocks: 10, text: RANGES.capacity, status: 400 } }),
    one('ranges of 7 blocks, suggested', { range: { blocks: 7, text: RANGES.suggested } }),
    one('20 results', { results: 20 }),
    one('batches refused with 403', { batch: { kind: 'status', status: 403 } }),
    one('batches refused with 413', { batch: { kind: 'status', status: 413 } }),
    one('batches refused with 500', { batch: { kind: 'status', status: 500 } }),
    one('batches refused by one object', { batch: { kind: 'object' } }),
    one('batches refused by one error in an array', { batch: { kind: 'array' } }),
    one('batches refused per call', { batch: { kind: 'calls' } }),
    one('batches above ten refused', { batch: { kind: 'status', status: 400, text: '{"error":"batch size exceeds quota"}', over: 10 } }),
    one('30 % of answers are 502', { fail: 0.3 }),
    one('30 % of answers are 500', { fail: 0.3, failStatus: 500 }),
    one('10 % of answers drip', { drip: 0.1 }, { slow: true }),
    one('10 % of requests hang', { hang: 0.1 }, { slow: true }),
    beside('half of the requests to one URL hang', { hang: 0.5 }),
    beside('a head a million too high', { head: 1000000 }),
    beside('another block at the same height', { fork: true }),
    beside('one URL is dead', { fail: 1 }),
    one('logs dated two hours off', { shift: 7200 }),
    one('logs dated zero', { shift: 0 }),
    one('eth_call fails for 4 s', { failing: { eth_call: 4000 } }),
    one('down for 3 s', { until: 3000 }),
    one('one log dropped once', { drop: true, finalized: 0 }, { heals: true })
  ]
}
