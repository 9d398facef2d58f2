import { Socket } from 'node:net'

interface Target {
  host: string[]
  port: number[]
  path?: string | false
}

/**
 * A connection to Postgres for postgres.js, whose errors are its end at once. By itself a socket tells of an error
 * first and of its end a moment later; a query that postgres.js 3.4 sends in between is never answered nor refused,
 * and its connection is never used again: a write hangs, and with it its project.
 */
export function endingAtOnce({ host, port, path }: Target): Socket {
  const socket = new Socket()
  const emit = socket.emit.bind(socket)
  let over = false
  socket.emit = (event: string | symbol, ...args: unknown[]): boolean => {
    if (over && (event === 'error' || event === 'close')) return true
    const heard = emit(event, ...args)
    if (event !== 'error') return heard
    over = true
    return emit('close', true)
  }
  if (path) return socket.connect(path)
  return Object.assign(socket, { host: host[0], port: port[0] }).connect(
    port[0] ?? 5432,
    host[0] ?? 'localhost',
  )
}
