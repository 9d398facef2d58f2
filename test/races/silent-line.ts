import { type AddressInfo, connect, createServer, type Socket } from 'node:net'

/** Stands between the service and a server, and can go silent: everything is taken, nothing arrives, no line ends. */
export interface SilentLine {
  url: string
  /** Silences every open connection for good; new ones work. */
  silenceOpen(): void
  /** Silences open connections and those that are made until `speak`. */
  silence(): void
  speak(): void
  close(): void
}

export async function openSilentLine(databaseUrl: string): Promise<SilentLine> {
  const url = new URL(databaseUrl)
  const { port, hostname } = url
  const sockets = new Set<Socket>()
  const silenced = new WeakSet<Socket>()
  let isSilent = false

  const server = createServer((service) => {
    const postgres = connect(Number(port), hostname)
    if (isSilent) silenced.add(service)
    sockets.add(service).add(postgres)
    const forward = (from: Socket, to: Socket) => {
      from.setNoDelay(true)
      from.on('error', () => {})
      from.on('data', (chunk) => void (silenced.has(service) || to.write(chunk)))
      from.on('close', () => void (silenced.has(service) || to.destroy()))
    }
    forward(service, postgres)
    forward(postgres, service)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  url.host = `127.0.0.1:${(server.address() as AddressInfo).port}`
  const silenceOpen = () => sockets.forEach((socket) => silenced.add(socket))
  return {
    url: url.href,
    silenceOpen,
    silence() {
      isSilent = true
      silenceOpen()
    },
    speak: () => void (isSilent = false),
    close() {
      server.close()
      for (const socket of sockets) socket.destroy()
    },
  }
}
