import { connect, createServer, type Socket } from 'node:net'
import { TLSSocket } from 'node:tls'
import { listen } from '../kit.ts'
import { testCertificate } from '../support/tls-proxy.ts'

/** Opens a proxy that sends every request to one service, also after CONNECT, then with TLS. No name is looked up. */
export async function openForwardProxy(serviceUrl: string, connectStatus = '200 OK') {
  const sockets = new Set<Socket>()
  const requests: string[] = []
  const join = (client: Socket, edit: (chunk: Buffer) => string | Buffer) => {
    const service = connect(Number(new URL(serviceUrl).port), '127.0.0.1')
    for (const one of [client, service]) sockets.add(one.on('error', () => one.destroy()))
    service.pipe(client)
    client.on('data', (chunk: Buffer) => service.write(edit(chunk)))
    client.on('close', () => service.destroy())
    return edit
  }
  const record = (head: string) => {
    const authorization = /^proxy-authorization: *(.*)$/im.exec(head)?.[1]
    requests.push([/^\S+ \S+/.exec(head)![0], authorization].filter(Boolean).join(' '))
  }
  const withoutOrigin = (chunk: Buffer): string | Buffer => {
    const text = chunk.toString('latin1')
    if (!/^[A-Z]+ http:\/\//.test(text)) return chunk
    record(text)
    return Buffer.from(text.replace(/^([A-Z]+ )http:\/\/[^/]+/, '$1'), 'latin1')
  }
  const server = createServer((client) => {
    sockets.add(client.on('error', () => client.destroy()))
    client.once('data', (first) => {
      if (!first.toString('latin1').startsWith('CONNECT ')) {
        client.pause()
        join(client, withoutOrigin)
        client.emit('data', first)
        client.resume()
        return
      }
      record(first.toString('latin1'))
      client.write(`HTTP/1.1 ${connectStatus}\r\n\r\n`)
      if (connectStatus.startsWith('200'))
        join(new TLSSocket(client, { isServer: true, ...testCertificate }), (chunk) => chunk)
    })
  })
  const { port } = await listen(server)
  return {
    ...{ requests, host: `127.0.0.1:${port}`, url: `http://127.0.0.1:${port}` },
    close() {
      server.close()
      for (const socket of sockets) socket.destroy()
    },
  }
}
