import { createSocket } from 'node:dgram'

/** Answers every question for a name's IPv4 addresses with these, as the name service of a container network does. */
export async function openNames(addresses: string[]) {
  const socket = createSocket('udp4')
  socket.on('message', (asked, { port, address }) => socket.send(answerTo(asked, addresses), port, address))
  await new Promise<void>((resolve) => socket.bind(0, '127.0.0.1', resolve))
  return { address: `127.0.0.1:${socket.address().port}`, close: () => void socket.close() }
}

const header = 12
const ipv4 = 1

function answerTo(asked: Buffer, addresses: string[]): Buffer {
  let end = header
  while (asked[end] !== 0) end += asked[end]! + 1
  const question = asked.subarray(header, end + 5)
  const found = asked.readUInt16BE(end + 1) === ipv4 ? addresses : []
  const head = Buffer.alloc(header)
  asked.copy(head, 0, 0, 2)
  head.writeUInt16BE(0x8180, 2) // an answer, and no error
  head.writeUInt16BE(1, 4)
  head.writeUInt16BE(found.length, 6)
  return Buffer.concat([head, question, ...found.map(recordOf)])
}

/** The name asked for, IPv4, for one second. */
const recordOf = (address: string): Buffer =>
  Buffer.from([0xc0, header, 0, ipv4, 0, 1, 0, 0, 0, 1, 0, 4, ...address.split('.').map(Number)])
