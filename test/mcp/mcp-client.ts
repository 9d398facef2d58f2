import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client'
import type { TestService } from '../support/service.ts'

export const modes = ['auto', 'legacy', { pin: '2026-07-28' }] as const
type Mode = (typeof modes)[number]

/** Connects the official client to a service in this process. */
export async function connect({ fetch }: Pick<TestService, 'fetch'>, token = '', mode: Mode = 'auto') {
  const client = new Client(
    { name: 'test', version: '1.0.0' },
    { versionNegotiation: { mode: mode as 'auto' } },
  )
  const transport = new StreamableHTTPClientTransport(new URL('http://localhost/mcp'), {
    fetch: (url, init) => fetch(new URL(url).pathname, init),
    requestInit: { headers: { authorization: `Bearer ${token}` } },
  })
  await client.connect(transport)
  const call = async <T = Record<string, unknown>>(name: string, args: object = {}) => {
    const { content, isError = false } = await client.callTool({ name, arguments: { ...args } })
    const text = content.map((one) => (one.type === 'text' ? one.text : '')).join()
    return { isError, text, body: JSON.parse(text) as T }
  }
  return { client, call, close: () => client.close() }
}
