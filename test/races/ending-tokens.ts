import { expect } from 'bun:test'
import type { Person } from '../support/client.ts'

/** The documented time after which all processes reject a revoked token. */
export const revocationMs = 1_000

export interface EndingToken {
  clients: Person[]
  end(): ReturnType<Person['get']>
}

/** Expects all clients to be accepted, and to be rejected one second after `end`. */
export async function expectTokensToEnd(tokens: EndingToken[]): Promise<void> {
  const statuses = async () => {
    const all = tokens.flatMap(({ clients }) => clients.map((client) => client.get('/auth/me')))
    return [...new Set((await Promise.all(all)).map(({ status }) => status))]
  }
  expect(await statuses()).toEqual([200])
  const ended = await Promise.all(tokens.map(({ end }) => end()))
  for (const { status } of ended) expect([200, 204]).toContain(status)
  await Bun.sleep(revocationMs)
  expect(await statuses()).toEqual([401])
}
