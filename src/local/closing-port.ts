import { dlopen, ptr } from 'bun:ffi'
import { readdirSync, readFileSync, readlinkSync } from 'node:fs'

const signature = { setsockopt: { args: ['i32', 'i32', 'i32', 'ptr', 'u32'], returns: 'i32' } } as const
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
 * Without this filter, Linux resets the connections that wait in the accept queue when the port closes.
 * @throws Error if the system forbids socket filters (some systems allow them only to root)
 */
export function dropNewConnections(port: number): void {
  const program = new BigUint64Array([BigInt(filter.length), BigInt(ptr(filter))])
  const { symbols, close } = dlopen('libc.so.6', signature)
  const attach = (socket: number) =>
    symbols.setsockopt(socket, SOL_SOCKET, SO_ATTACH_FILTER, ptr(program), program.byteLength)
  const results = socketsListeningOn(port).map(attach)
  close()
  if (results.some((result) => result !== 0))
    throw new Error('this user may not filter the connections of a port')
}

function socketsListeningOn(port: number): number[] {
  const rows = ['tcp', 'tcp6'].flatMap((table) => readFileSync(`/proc/self/net/${table}`, 'utf8').split('\n'))
  const address = `:${port.toString(16).toUpperCase().padStart(4, '0')}`
  const listening = rows
    .map((row) => row.trim().split(/\s+/))
    .filter(([, local, , state]) => state === '0A' && local?.endsWith(address))
  const names = new Set(listening.map((columns) => `socket:[${columns[9]}]`))
  return readdirSync('/proc/self/fd')
    .filter((fd) => names.has(nameOf(fd)))
    .map(Number)
}

function nameOf(fd: string): string {
  try {
    return readlinkSync(`/proc/self/fd/${fd}`)
  } catch {
    return ''
  }
}
