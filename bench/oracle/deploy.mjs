// Puts the contracts on a local node: the protocol's, ours, and tokens with rich owners; and sends transactions to them.
import { Interface } from 'ethers'
import { PERMIT2, ZERO, artifact, coder, hex, addr, ours, permit2Code, sleep } from './lib.mjs'
import { keyArr } from './truth.mjs'

// More than anybody can spend: a swap moves at most 2^127.
export const RICH = 10n ** 40n

export function transactions (rpc, gas) {
  async function send (from, to, data, value = 0n, gasPrice = 0n) {
    const tx = { from, gas, data, value: hex(value), gasPrice: hex(gasPrice) }
    if (to) tx.to = to
    return rpc.send('eth_sendTransaction', [tx])
  }
  async function receipt (h) { // automine answers a moment before the block is there
    for (let i = 0; i < 4000; i++) {
      const r = await rpc.send('eth_getTransactionReceipt', [h])
      if (r && Number(await rpc.send('eth_blockNumber')) >= Number(r.blockNumber)) return r
      await sleep(i < 20 ? 1 : 5)
    }
    throw new Error('no receipt for ' + h)
  }
  async function must (from, to, data, value) {
    const r = await receipt(await send(from, to, data, value))
    if (r.status !== '0x1') throw new Error('setup transaction reverted: ' + JSON.stringify(r))
    return r
  }
  return { send, receipt, must }
}

// deployer returns a function that deploys an artifact with constructor arguments.
export function deployer (rpc, gas, admin) {
  const { must } = transactions(rpc, gas)
  return async (art, types = [], vals = []) => {
    const r = await must(admin, null, art.bytecode + coder.encode(types, vals).slice(2))
    return { address: addr(r.contractAddress), block: Number(r.blockNumber) }
  }
}

export async function deployAll (rpc, gas, admin, owners) {
  const { must } = transactions(rpc, gas), deploy = deployer(rpc, gas, admin)
  const mine = ours()
  const aM = artifact('PoolManager.sol/PoolManager.default.json', 'PoolManager')
  const aV = artifact('StateView.sol/StateView.json', 'StateView')
  await rpc.send('anvil_setCode', [PERMIT2, permit2Code()])
  const manager = await deploy(aM, ['address'], [admin])
  const posm = await deploy(aP, ['address', 'address', 'uint256', 'address', 'address'], [manager.address, PERMIT2, 300000, ZERO, ZERO])
  const stateView = await deploy(aV, ['address'], [manager.address])
  const router = await deploy(mine.router, ['address'], [manager.address])
  const subscriber = await deploy(mine.subscriber)
  const M = aM.iface, RT = mine.router.iface, TK = mine.token.iface
  const permit2 = new Interface(['function approve(address,address,uint160,uint48)'])
  await must(admin, manager.address, M.encodeFunctionData('setProtocolFeeController', [admin]))

  // low 14 bits of a hook's address are its permissions
  const hookDyn = addr('0x00000000000000000000000000000000d00d' + (0x4000 | 0x80 | 0x40 | 0x08 | 0x04).toString(16))
  const hookTax = addr('0x00000000000000000000000000000000feed' + (0x4000 | 0x100 | 0x01 | 0x80 | 0x40 | 0x08 | 0x04).toString(16))
  for (const h of [hookDyn, hookTax]) {
    await rpc.send('anvil_setCode', [h, mine.hook.runtime])
    await must(admin, h, mine.hook.iface.encodeFunctionData('init', [manager.address]))
  }

  const richest = [router.address, hookDyn, hookTax]
  for (const a of [...richest, ...owners]) await rpc.send('anvil_setBalance', [a, hex(RICH)])
  // addToken deploys a token that everybody has more of than anybody can spend.
  async function addToken (name, symbol, decimals) {
    const { address } = await deploy(mine.token, ['string', 'string', 'uint8'], [name, symbol, decimals])
    for (const a of richest) await must(admin, address, TK.encodeFunctionData('mint', [a, RICH]))
    for (const a of owners) {
      await must(a, address, TK.encodeFunctionData('mint', [a, RICH]))
      await must(a, address, TK.encodeFunctionData('approve', [PERMIT2, (1n << 256n) - 1n]))
      await must(a, PERMIT2, permit2.encodeFunctionData('approve', [address, posm.address, (1n << 160n) - 1n, (1n << 48n) - 1n]))
    }
    return { address, name, symbol, decimals }
  }
  const tokens = []
  for (const [n, s, dec] of [['Oracle Six', 'OS6', 6], ['Oracle Eight', 'OE8', 8], ['Oracle Ether', 'OE18', 18], ['Oracle Other', 'OO18', 18]]) tokens.push(await addToken(n, s, dec))
  return { manager, posm, stateView, router, subscriber, hookDyn, hookTax, tokens, addToken, M, P, RT, TK }
}

// ---------- what is sent ----------
export const hookData = (mode, fee, x) => coder.encode(['uint256', 'uint24', 'uint256'], [mode, fee, x])

const aP = artifact('PositionManager.sol/PositionManager.json', 'PositionManager'), P = aP.iface
const enc = (t, v) => coder.encode(t, v)
const KEY = 'tuple(address,address,uint24,int24,address)'
const MAX128 = (1n << 128n) - 1n

// Actions of the position manager.
export const act = {
  mint: (p, lo, up, liq, to, hd = '0x') => [0x02, enc([KEY, 'int24', 'int24', 'uint256', 'uint128', 'uint128', 'address', 'bytes'], [keyArr(p.key), lo, up, liq, MAX128, MAX128, to, hd])],
  inc: (id, liq, hd = '0x') => [0x00, enc(['uint256', 'uint256', 'uint128', 'uint128', 'bytes'], [id, liq, MAX128, MAX128, hd])],
  dec: (id, liq, hd = '0x') => [0x01, enc(['uint256', 'uint256', 'uint128', 'uint128', 'bytes'], [id, liq, 0, 0, hd])],
  burn: (id, hd = '0x') => [0x03, enc(['uint256', 'uint128', 'uint128', 'bytes'], [id, 0, 0, hd])],
  incFromDeltas: id => [0x04, enc(['uint256', 'uint128', 'uint128', 'bytes'], [id, MAX128, MAX128, '0x'])],
  close: c => [0x12, enc(['address'], [c])],
  takePair: (p, to) => [0x11, enc(['address', 'address', 'address'], [p.key.currency0, p.key.currency1, to])],
  sweep: (c, to) => [0x14, enc(['address', 'address'], [c, to])]
}
const unlock = list => enc(['bytes', 'bytes[]'], ['0x' + list.map(x => x[0].toString(16).padStart(2, '0')).join(''), list.map(x => x[1])])
export const modify = list => P.encodeFunctionData('modifyLiquidities', [unlock(list), (1n << 40n)])
export const closeBoth = (p, who) => [act.close(p.key.currency0), act.close(p.key.currency1), ...(p.key.currency0 === ZERO ? [act.sweep(ZERO, who)] : [])]
export const valueFor = p => p.key.currency0 === ZERO ? 10n ** 30n : 0n
