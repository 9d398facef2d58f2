import { Agent as HttpAgent, type ClientRequest, request as viaHttp } from 'node:http'
import { Agent as HttpsAgent, request as viaHttps } from 'node:https'
import { isIP } from 'node:net'
import { hostnameOf } from '../hosts.ts'
import { maxAnswerBytes, type ResponseSummary, summarize } from './response.ts'

/** Interim responses (1xx) before the final response. Nothing else stops an endless series. */
const maxInterim = 10
const agentOptions = { keepAlive: true, maxFreeSockets: 64, timeout: 4_000 }

export interface OutboundRequest {
  url: string
  body: string
  headers: Record<string, string>
  signal?: AbortSignal
}

class StaleConnection extends Error {}

export function openExchange(ca?: string) {
  const http = { request: viaHttp, agent: new HttpAgent(agentOptions), port: 80 }
  const https = { request: viaHttps, agent: new HttpsAgent({ ...agentOptions, ca }), port: 443 }

  async function send({ body, headers }: OutboundRequest, url: URL, address: string, signal: AbortSignal) {
    signal.throwIfAborted()
    const { request, agent, port } = url.protocol === 'https:' ? https : http
    const outgoing = request({
      method: 'POST',
      agent,
      host: address,
      port: url.port || port,
      path: url.pathname + url.search,
      servername: isIP(hostnameOf(url)) ? undefined : url.hostname,
      headers: {
        ...headers,
        host: url.host,
        'content-type': 'application/json',
        'content-length': Buffer.byteLength(body),
      },
    })
    signal.addEventListener('abort', () => void outgoing.destroy(signal.reason as Error))
    return readResponse(outgoing, body)
  }

  return (...args: Parameters<typeof send>): Promise<ResponseSummary> =>
    send(...args).catch((error: unknown) => {
      if (error instanceof StaleConnection) return send(...args)
      throw error
    })
}

function readResponse(outgoing: ClientRequest, body: string): Promise<ResponseSummary> {
  const { promise, resolve, reject } = Promise.withResolvers<ResponseSummary>()
  outgoing.on('error', (error) =>
    reject(outgoing.reusedSocket && isConnectionReset(error) ? new StaleConnection() : error),
  )
  let interim = 0
  outgoing.on('information', () => {
    if (++interim > maxInterim) outgoing.destroy(new Error('Too many interim responses'))
  })
  outgoing.on('response', (response) => {
    const chunks: Buffer[] = []
    let length = 0
    const done = () => resolve(summarize(response, Buffer.concat(chunks)))
    response.on('data', (chunk: Buffer) => {
      chunks.push(chunk)
      length += chunk.length
      if (length < maxAnswerBytes) return
      done()
      outgoing.destroy()
    })
    for (const end of ['end', 'error', 'close']) response.on(end, done)
  })
  outgoing.end(body)
  return promise
}

const isConnectionReset = (error: NodeJS.ErrnoException): boolean =>
  ['ECONNRESET', 'EPIPE'].includes(error.code ?? '')
