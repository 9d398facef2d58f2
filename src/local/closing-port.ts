import { dlopen, ptr } from 'bun:ffi'
import { readdirSync, readFileSync, readlinkSync } from 'node:fs'

const libc = ['libc.so.6', `libc.musl-${process.arch === 'arm64' ? 'aarch64' : 'x86_64'}.so.1`]
const signature = { setsockopt: { args: ['i32', 'i32', 'i32', 'ptr', 'u32'], returns: 'i32' } } as const
const SOL_SOCKET = 1
const SO_ATTACH_FILTER = 26

/** Drops what asks for a connection (SYN and no ACK in byte 13 of the TCP header), takes everything else. */
const filter: [code: number, ifTrue: number, ifFalse: number, value: number][] = [
  [0x30, 0, 0, 13],
  [0x54, 0, 0, 0x12],
  [0x15, 0, 1, 0x02],
  [0x06, 0, 0, 0],
  [0x06, 0, 0, 0xffff_ffff],
]

/** Some systems allow a socket filter to root alone. */
export const noFilter = 'the system does not let this user filter the connections of a port'

/**
 * Has no new connection come to this process on a port that others share: who asks for one asks again after a second,
 * and finds another. For Linux resets what waits to be accepted when its process closes the port.
 * @throws Error where the system does not allow it
 */
export function takeNoNewConnections(port: number): void {
  const code = new DataView(new ArrayBuffer(8 * filter.length))
  for (const [i, [operation, ifTrue, ifFalse, value]] of filter.entries()) {
    code.setUint16(8 * i, operation, true)
    code.setUint8(8 * i + 2, ifTrue)
    code.setUint8(8 * i + 3, ifFalse)
    code.setUint32(8 * i + 4, value, true)
  }
  const program = new DataView(new ArrayBuffer(16))
  program.setUint16(0, filter.length, true)
  program.setBigUint64(8, BigInt(ptr(code)), true)
  for (const socket of socketsListeningOn(port)) attach(socket, program)
}

function attach(socket: number, program: DataView<ArrayBuffer>): void {
  const { symbols, close } = openLibc()
  const answer = symbols.setsockopt(socket, SOL_SOCKET, SO_ATTACH_FILTER, ptr(program), program.byteLength)
  close()
  if (answer !== 0) throw new Error(noFilter)
}

function openLibc() {
  const [usual, musl] = libc as [string, string]
  try {
    return dlopen(usual, signature)
  } catch {
    return dlopen(musl, signature)
  }
}

/** The file descriptors of this process that listen on `port`. */
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
    return '' // closed meanwhile, as the one that reads this folder
  }
}
