import { dlopen, ptr } from 'bun:ffi'
import { readdirSync } from 'node:fs'

const functions = {
  getsockname: { args: ['i32', 'ptr', 'ptr'], returns: 'i32' },
  setsockopt: { args: ['i32', 'i32', 'i32', 'ptr', 'u32'], returns: 'i32' },
} as const
const SOL_SOCKET = 1
const SO_ATTACH_FILTER = 26

/**
 * A BPF program that drops packets with SYN and without ACK (byte 13 of the TCP header). Each instruction consists of a
 * value, the jump if false, the jump if true, and an operation.
 */
const filter = new BigUint64Array([
  0x0000000d_00_00_0030n,
  0x00000012_00_00_0054n,
  0x00000002_01_00_0015n,
  0x00000000_00_00_0006n,
  0xffffffff_00_00_0006n,
])

/**
 * Without this filter, Linux resets the connections that wait in the accept queue when the port closes. Accepted
 * connections of the port also get the filter, but receive no such packets.
 * @throws Error if the system forbids socket filters (some systems allow them only to root)
 */
export function dropNewConnections(port: number): void {
  const program = new BigUint64Array([BigInt(filter.length), BigInt(ptr(filter))])
  const { symbols, close } = dlopen('libc.so.6', functions)
  const isAtPort = (fd: number) => {
    const [address, length] = [new DataView(new ArrayBuffer(28)), new Uint32Array([28])]
    return symbols.getsockname(fd, ptr(address), ptr(length)) === 0 && address.getUint16(2) === port
  }
  const sockets = readdirSync('/proc/self/fd').map(Number).filter(isAtPort)
  const results = sockets.map((fd) =>
    symbols.setsockopt(fd, SOL_SOCKET, SO_ATTACH_FILTER, ptr(program), program.byteLength),
  )
  close()
  if (results.some((result) => result !== 0))
    throw new Error('this user may not filter the connections of a port')
}
