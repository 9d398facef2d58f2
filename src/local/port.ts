/** Returns a free loopback port. Another process may open the port first, so callers retry. */
export function freePort(): number {
  const server = Bun.listen({ hostname: '127.0.0.1', port: 0, socket: { data() {} } })
  server.stop()
  return server.port
}
