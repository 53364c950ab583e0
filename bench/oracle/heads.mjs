// The least of a websocket that tells of new heads: text frames of up to 64 KiB, no extensions.
import { createHash } from 'node:crypto'
import http from 'node:http'

const MAGIC = '258EAFA5-E914-47DA-95CA-C5AB0DC85B11'

export class HeadServer {
  constructor (chain) { Object.assign(this, { chain, sockets: new Set(), subscriptions: 0 }) }

  async listen () {
    this.server = http.createServer((q, r) => r.writeHead(426).end())
    this.server.on('upgrade', (q, socket) => this.accept(q, socket))
    await new Promise(resolve => this.server.listen(0, '127.0.0.1', resolve))
    return `ws://127.0.0.1:${this.server.address().port}/v2/s3cret-key`
  }

  accept (q, socket) {
    const key = createHash('sha1').update(q.headers['sec-websocket-key'] + MAGIC).digest('base64')
    socket.write(`HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: ${key}\r\n\r\n`)
    socket.setNoDelay(true)
    let held = Buffer.alloc(0)
    socket.on('data', b => { held = this.read(socket, Buffer.concat([held, b])) })
    socket.on('error', () => {}).on('close', () => this.sockets.delete(socket))
  }

  // read takes whole frames off the front, which are masked, and returns the rest.
  read (socket, b) {
    for (;;) {
      if (b.length < 6) return b
      const op = b[0] & 15
      let size = b[1] & 127, at = 2
      if (size === 126) { if (b.length < 8) return b; size = b.readUInt16BE(2); at = 4 }
      if (b.length < at + 4 + size) return b
      const mask = b.subarray(at, at + 4), data = Buffer.from(b.subarray(at + 4, at + 4 + size).map((x, i) => x ^ mask[i % 4]))
      b = b.subarray(at + 4 + size)
      if (op === 1) this.answer(socket, JSON.parse(data))
      if (op === 8) socket.end()
      if (op === 9) this.send(socket, data, 10)
    }
  }

  answer (socket, call) {
    if (call.method === 'eth_subscribe' && call.params[0] === 'newHeads') {
      this.sockets.add(socket)
      socket.subscription = '0x' + (++this.subscriptions).toString(16)
      return this.send(socket, JSON.stringify({ jsonrpc: '2.0', id: call.id, result: socket.subscription }))
    }
    this.send(socket, JSON.stringify({ jsonrpc: '2.0', id: call.id, result: true }))
  }

  send (socket, data, op = 1) {
    const body = Buffer.from(data), size = body.length
    const head = size < 126 ? Buffer.from([128 | op, size]) : Buffer.from([128 | op, 126, size >> 8, size & 255])
    socket.write(Buffer.concat([head, body]))
  }

  tell (n) {
    const { transactions, ...header } = this.chain.blocks[n]
    for (const s of this.sockets) {
      this.send(s, JSON.stringify({ jsonrpc: '2.0', method: 'eth_subscription', params: { subscription: s.subscription, result: header } }))
    }
  }
}
