import { expect, setDefaultTimeout, test } from 'bun:test'
import fc from 'fast-check'
import { cases, expectError, fillPath, make, openTeam, registerTeam, sampleOf } from '../kit.ts'
import { undocumentedParts, unknownId, upTo } from '../kit.ts'
import { arbitraryBody, arbitraryHeaders, arbitraryId, arbitraryQuery, hostileBodies } from './hostile.ts'
import { hostileTexts } from './hostile.ts'
import { type Call, createRows, readCalls, type Rows } from './operations.ts'

const seed = 20_270_131
setDefaultTimeout(120_000)
const { client, sql, people, guest } = await openTeam(['Guest'])
const { api, calls } = await readCalls(client)

/** Prepares a project for an operation. An operation that may delete the account, or that exports all its projects, gets separate callers. */
async function prepare(call: Call) {
  const callers = /^\/(auth\/|export$)/.test(call.path) ? await registerTeam(client) : people
  const rows = await createRows(people, guest, sql, call)
  // The undo of an import would wait for a worker.
  if (call.id === 'undoImport') rows.importId = unknownId
  const send = async (role: keyof typeof people, ids: Rows, rest: string, body?: string, headers = {}) => {
    const path = fillPath(call.path, ids) + rest
    const answer = await callers[role].call(call.method, path, body, headers)
    expect([call.name, answer.status >= 500 && answer.text]).toEqual([call.name, false])
    expect([call.name, undocumentedParts(api, call.operation, answer)]).toEqual([call.name, []])
    if (answer.status < 400) return
    expectError(answer, answer.status)
    expect(answer.body.message).not.toMatch(/\[object|undefined|at \w+ \(|\bselect\b|postgres/i)
    expect(answer.body.message.length).toBeLessThan(1_000)
  }
  return { call, rows, send, valid: validBody(call, rows) }
}

/** Several operations at a time, because the service delays the errors of a client that causes many. */
const forEachOperation = (
  work: (prepared: Awaited<ReturnType<typeof prepare>>, n: number) => Promise<void>,
) => {
  const remaining = calls.entries()
  const lane = async () => {
    for (const [n, call] of remaining) await work(await prepare(call), n)
  }
  return Promise.all(upTo(16).map(lane))
}

function validBody({ fields, body }: Call, { projectId }: Rows): object {
  const writable = Object.entries(fields).filter(([name, { readOnly }]) => name !== 'id' && !readOnly)
  const ids = { projectId, assigneeId: people.owner.id, email: people.stranger.email }
  const values: Record<string, unknown> = { ...body, ...ids }
  return Object.fromEntries(writable.map(([name, { examples = [] }]) => [name, values[name] ?? examples[0]]))
}

/** Generates ids, mostly valid ids, so that requests reach the commands. */
function arbitraryIds(rows: Rows): fc.Arbitrary<Rows> {
  const others = fc.constantFrom(...Object.values(rows), unknownId)
  const id = (own: string) =>
    fc.oneof(
      { weight: 8, arbitrary: fc.constant(own) },
      { weight: 1, arbitrary: others },
      { weight: 1, arbitrary: arbitraryId },
    )
  const arbitraries = Object.entries(rows).map(([name, own]) => [name, id(own)])
  return fc.record(Object.fromEntries(arbitraries) as Record<keyof Rows, fc.Arbitrary<string>>)
}

test('every operation answers arbitrary requests with a documented success or error', () =>
  forEachOperation(async ({ call, rows, send, valid }) => {
    const request = fc.record({
      role: fc.constantFrom('owner' as const, 'editor' as const, 'stranger' as const),
      ...{ ids: arbitraryIds(rows), query: arbitraryQuery },
      ...{ body: arbitraryBody(valid), headers: arbitraryHeaders },
    })
    const property = fc.asyncProperty(request, ({ role, ids, query, body, headers }) =>
      send(role, ids, query, call.method === 'GET' ? undefined : body, headers),
    )
    await fc.assert(property, { seed, numRuns: cases(4) })
  }))

test('every operation answers hostile bodies, and hostile texts in each of its fields', () =>
  forEachOperation(async ({ call, rows, send, valid }, n) => {
    if (!call.operation.requestBody) return
    for (const body of sampleOf(hostileBodies, n)) await send('owner', rows, '', body)
    for (const [at, field] of Object.keys(valid).entries())
      for (const text of sampleOf(sampleOf(hostileTexts, at), n))
        await send('owner', rows, '', JSON.stringify({ ...valid, [field]: text }))
  }))

test('a hostile Authorization header is rejected with 401', async () => {
  const token = people.owner.token!
  const printable = hostileTexts.filter((text) => /^[\x20-\x7e]*$/.test(text))
  const credentials = fc.oneof(
    fc.string({ maxLength: 300 }),
    fc.constantFrom(...printable, `${token}x`, 'x'.repeat(9_000)),
    fc.tuple(fc.base64String(), fc.base64String(), fc.base64String()).map((parts) => parts.join('.')),
  )
  const schemes = fc.constantFrom('Bearer ', 'bearer', '', 'Basic ')
  const property = fc.asyncProperty(credentials, schemes, async (text, scheme) => {
    expectError(await client.get('/auth/me', { authorization: scheme + text.trim() }), 401)
  })
  await fc.assert(property, { seed, numRuns: cases(60) })
})

test('the service still works after all these requests', async () => {
  const { projectId } = await createRows(people, guest, sql)
  const task = await make(people.editor, '/tasks', { title: 'After', projectId })
  expect(task.number).toBe(2)
  expect((await people.viewer.get(`/tasks?projectId=${projectId}`)).body).toHaveLength(2)
  expect((await client.get('/../../health/ready')).body).toMatchObject({ status: 'ok' } as never)
})
