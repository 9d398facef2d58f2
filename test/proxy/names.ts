import { createSocket } from 'node:dgram'

/** Starts a DNS server that returns these IPv4 addresses for every name, like the DNS of a container network. */
export async function openNames(addresses: string[]) {
  const socket = createSocket('udp4')
  socket.on('message', (query, { port, address }) => socket.send(responseTo(query, addresses), port, address))
  await new Promise<void>((resolve) => socket.bind(0, '127.0.0.1', resolve))
  return { address: `127.0.0.1:${socket.address().port}`, close: () => void socket.close() }
}

const header = 12
const ipv4 = 1

function responseTo(query: Buffer, addresses: string[]): Buffer {
  let end = header
  while (query[end] !== 0) end += query[end]! + 1
  const question = query.subarray(header, end + 5)
  const found = query.readUInt16BE(end + 1) === ipv4 ? addresses : []
  const head = Buffer.alloc(header)
  query.copy(head, 0, 0, 2)
  head.writeUInt16BE(0x8180, 2)
  head.writeUInt16BE(1, 4)
  head.writeUInt16BE(found.length, 6)
  return Buffer.concat([head, question, ...found.map(recordOf)])
}

/** Returns an A record of the requested name with a TTL of one second. */
const recordOf = (address: string): Buffer =>
  Buffer.from([0xc0, header, 0, ipv4, 0, 1, 0, 0, 0, 1, 0, 4, ...address.split('.').map(Number)])
