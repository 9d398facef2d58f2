import { expect, setDefaultTimeout, test } from 'bun:test'
import fc from 'fast-check'
import { cases, createFullProject, expectError, fillPath, make, openTeam, operationsOf } from '../kit.ts'
import { registerTeam, resolveSchema, sampleOf, undocumentedParts, unknownId, upTo } from '../kit.ts'
import type { Answer, OpenApi, Operation, ProjectParts } from '../kit.ts'
import { arbitraryBody, arbitraryHeaders, arbitraryId, arbitraryQuery, hostileBodies } from './hostile.ts'
import { hostileTexts } from './hostile.ts'
import { createOwnImport } from './own-import.ts'

const seed = 20_270_131
setDefaultTimeout(120_000)
const { client, sql, people, guest } = await openTeam(['Guest'])
const api = (await client.get('/../docs/json')).body as unknown as OpenApi

function expectDocumented(name: string, operation: Operation, response: Answer) {
  expect([name, response.status >= 500 && response.text]).toEqual([name, false])
  expect([name, undocumentedParts(api, operation, response)]).toEqual([name, []])
  if (response.status < 400) return
  expectError(response, response.status)
  expect(response.body.message).not.toMatch(/\[object|undefined|at \w+ \(|\bselect\b|postgres/i)
  expect(response.body.message.length).toBeLessThan(1_000)
}

/** Opens a project for an operation. Operations of `/auth` get separate callers, because they may delete the account. */
async function prepare(name: string, operation: Operation) {
  const [method = '', path = ''] = name.split(' ')
  const callers = path.startsWith('/api/v1/auth/') ? await registerTeam(client) : people
  const rows = await createFullProject(people, guest)
  const parts = { ...rows, importId: await createOwnImport(sql, people.owner, rows, operation) }
  const send = async (
    role: keyof typeof people,
    ids: ProjectParts,
    rest: string,
    body?: string,
    headers = {},
  ) => {
    const filled = fillPath(path, ids) + rest
    expectDocumented(name, operation, await callers[role].call(method.toUpperCase(), filled, body, headers))
  }
  return { method, parts, send, valid: validBody(operation, parts), hasBody: !!operation.requestBody }
}

/** Several operations at a time, because the service delays the errors of a client that causes many. */
const forEachOperation = (
  work: (prepared: Awaited<ReturnType<typeof prepare>>, n: number) => Promise<void>,
) => {
  const operations = [...operationsOf(api)].entries()
  const lane = async () => {
    for (const [n, operation] of operations) await work(await prepare(...operation), n)
  }
  return Promise.all(upTo(16).map(lane))
}

function validBody({ requestBody }: Operation, { projectId }: ProjectParts): object {
  const { schema, example } = requestBody?.content?.['application/json'] ?? {}
  if (!schema) return {}
  const { properties = {} } = resolveSchema(api, schema.$ref!)
  const writable = Object.entries(properties).filter(([name, { readOnly }]) => name !== 'id' && !readOnly)
  const ids = { projectId, assigneeId: people.owner.id, email: people.stranger.email }
  const values: Record<string, unknown> = { ...(example as object), ...ids }
  return Object.fromEntries(writable.map(([name, { examples = [] }]) => [name, values[name] ?? examples[0]]))
}

/** Generates ids, mostly valid ids, so that requests reach the commands. */
function arbitraryIds(parts: ProjectParts) {
  const others = fc.constantFrom(...Object.values(parts), unknownId)
  const id = (own: string) =>
    fc.oneof(
      { weight: 8, arbitrary: fc.constant(own) },
      { weight: 1, arbitrary: others },
      { weight: 1, arbitrary: arbitraryId },
    )
  const arbitraries = Object.entries(parts).map(([name, own]) => [name, id(own)])
  return fc.record(Object.fromEntries(arbitraries) as Record<keyof ProjectParts, fc.Arbitrary<string>>)
}

test('every operation answers arbitrary requests with a documented success or error', () =>
  forEachOperation(async ({ method, parts, send, valid }) => {
    const request = fc.record({
      role: fc.constantFrom('owner' as const, 'editor' as const, 'stranger' as const),
      ...{ ids: arbitraryIds(parts), query: arbitraryQuery },
      ...{ body: arbitraryBody(valid), headers: arbitraryHeaders },
    })
    const property = fc.asyncProperty(request, ({ role, ids, query, body, headers }) =>
      send(role, ids, query, method === 'get' ? undefined : body, headers),
    )
    await fc.assert(property, { seed, numRuns: cases(4) })
  }))

test('every operation answers hostile bodies, and hostile texts in each of its fields', () =>
  forEachOperation(async ({ parts, send, valid, hasBody }, n) => {
    if (!hasBody) return
    for (const body of sampleOf(hostileBodies, n)) await send('owner', parts, '', body)
    for (const [at, field] of Object.keys(valid).entries())
      for (const text of sampleOf(hostileTexts, at))
        await send('owner', parts, '', JSON.stringify({ ...valid, [field]: text }))
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
  const { projectId } = await createFullProject(people, guest)
  const task = await make(people.editor, '/tasks', { title: 'After', projectId })
  expect(task.number).toBe(2)
  expect((await people.viewer.get(`/tasks?projectId=${projectId}`)).body).toHaveLength(2)
  expect((await client.get('/../../health/ready')).body).toMatchObject({ status: 'ok' } as never)
})
