import { createServer, type IncomingMessage, request as send } from 'node:http'
import { connect } from 'node:net'
import { listen } from '../kit.ts'
import { openTlsTunnel } from '../support/tls-proxy.ts'

/** Opens a proxy that sends every request to one service, also after CONNECT, then with TLS. No name is looked up. */
export async function openForwardProxy(serviceUrl: string, connectStatus = '200 OK') {
  const { hostname, port } = new URL(serviceUrl)
  const requests: string[] = []
  const closers: (() => unknown)[] = []
  const record = ({ method, url, headers }: IncomingMessage) =>
    requests.push([method, url, headers['proxy-authorization']].filter(Boolean).join(' '))
  const server = createServer((request, response) => {
    record(request)
    const { method, headers } = request
    const path = request.url!.replace(/^http:\/\/[^/]+/, '')
    const forwarded = send({ hostname, port, method, headers, path }, (answer) => {
      response.writeHead(answer.statusCode!, answer.headers).flushHeaders()
      answer.pipe(response)
    })
    response.on('close', () => forwarded.destroy())
    request.pipe(forwarded.on('error', () => response.destroy()))
  })
  const tunnel = await openTlsTunnel(Number(port), hostname)
  server.on('connect', (request, socket) => {
    record(request)
    closers.push(() => socket.destroy())
    socket.on('error', () => socket.destroy())
    socket.write(`HTTP/1.1 ${connectStatus}\r\n\r\n`)
    if (connectStatus.startsWith('200')) socket.pipe(connect(tunnel.port, '127.0.0.1')).pipe(socket)
  })
  const proxy = await listen(server)
  closers.push(tunnel.close, proxy.close)
  const close = () => closers.forEach((one) => void one())
  return { requests, host: proxy.url.slice('http://'.length), url: proxy.url, close }
}
