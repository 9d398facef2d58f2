import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client'
import type { TestService } from '../support/service.ts'

/** The maximum number of characters of an answer. */
export const maxAnswerCharacters = 20_000
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
  /** Returns the answers of all pages, each of which has at most the allowed characters. */
  async function pagesOf<T>(name: string, args: object): Promise<(T & { next?: string })[]> {
    const pages: (T & { next?: string })[] = []
    do {
      const given = { ...args, next: pages.at(-1)?.next }
      const { text, body, isError } = await call<T & { next?: string }>(name, given)
      expect([isError, text.length <= maxAnswerCharacters]).toEqual([false, true])
      pages.push(body)
    } while (pages.at(-1)!.next)
    return pages
  }
  return { client, call, pagesOf, close: () => client.close() }
}

interface Expected {
  status: number
  error?: string
  do?: string
  [detail: string]: unknown
}

/** Checks that an answer is an error with these fields, and that `error` and `do` contain these texts. */
export function expectError(
  { isError, body }: { isError: boolean; body: unknown },
  expected: Expected,
): void {
  const { error = '', do: advice = '', ...details } = expected
  const texts = { error: expect.stringContaining(error), do: expect.stringContaining(advice) }
  expect({ ...(body as object), isError }).toMatchObject({ isError: true, ...texts, ...details })
}

/** Operations that create tasks with these titles. */
export const creates = (...titles: string[]) => titles.map((title) => ({ op: 'task.create', title }))
