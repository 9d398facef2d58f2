import type { Person } from '../kit.ts'

/** The documented time after which all processes reject a revoked token. */
export const revocationMs = 1_000

type EndingToken = { clients: Person[]; end(): ReturnType<Person['get']> }

/** Expects all clients to be accepted, and to be rejected one second after `end`, which returns `endStatuses`. */
export async function expectTokensToEnd(tokens: EndingToken[], endStatuses: number[]): Promise<void> {
  const clientStatuses = async () => {
    const all = tokens.flatMap(({ clients }) => clients.map((client) => client.get('/auth/me')))
    return [...new Set((await Promise.all(all)).map(({ status }) => status))]
  }
  expect(await clientStatuses()).toEqual([200])
  const ended = await Promise.all(tokens.map(({ end }) => end()))
  expect(ended.map(({ status }) => status)).toEqual(endStatuses)
  await Bun.sleep(revocationMs)
  expect(await clientStatuses()).toEqual([401])
}
