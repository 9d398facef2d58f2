import { allPages, expectError, forFile, isReplay, make, makeToken, malformedIds, newId } from '../kit.ts'
import { openTeam, openTestService, register, replayedParts, undocumentedParts, unknownId } from '../kit.ts'
import { upTo, words } from '../kit.ts'
import type { Answer } from '../kit.ts'
import { type Call, createRows, pathOf, readCalls, roles, type Rows, send } from './operations.ts'

const { service, client, sql, people, owner, stranger, guest, countEvents } = await openTeam(['Guest'], {})
const { api, calls } = await readCalls(client)
const inProject = calls.filter(({ role }) => role)
const ofAccount = calls.filter(({ role, operation }) => !role && operation.security.length > 0)

const other = await forFile(openTestService(service.env))
/** A service that gets only requests that it must reject without loading a project. */
const idle = await forFile(openTestService(service.env))

const [shared, elsewhere] = [await createRows(people, guest, sql), await createRows(people, guest, sql)]
const scopes = ['read', 'write', 'admin'] as const
const tokens = await Promise.all(scopes.map((scope) => makeToken(owner, { scopes: [scope] })))
const boundElsewhere = await makeToken(owner, { projects: [elsewhere.projectId] })

const signInOnly =
  words(`updateMe deleteMe logout logoutAll resendVerification createToken listTokens deleteToken
  createServiceAccountToken listServiceAccountTokens deleteServiceAccountToken`)
const scopeOf = ({ id, role, method }: Call) => {
  if (signInOnly.includes(id)) return undefined
  if (role === 'owner' || role === 'admin') return 'admin'
  return role === 'editor' || (!role && method !== 'GET' && id !== 'readEvents') ? 'write' : 'read'
}

function expectDocumented(call: Call, answer: Answer): Answer {
  expect([call.id, undocumentedParts(api, call.operation, answer)]).toEqual([call.id, []])
  expect([call.id, answer.headers.get('x-content-type-options')]).toEqual([call.id, 'nosniff'])
  return answer
}

async function reject(
  call: Call,
  token: string | undefined,
  status: number,
  message: string | RegExp,
  rows = shared,
  at = idle,
  headers = {},
) {
  const answer = expectDocumented(call, await send(at.client.as(token), call, rows, headers))
  expectError(answer, status, message)
  return answer
}

const has = ({ operation }: Call, parameter: string) =>
  operation.parameters.some(({ name }) => name === parameter)

async function claimTask(projectId: string): Promise<{ id: string; seq: number }> {
  const { id } = await make(owner, '/tasks', { title: 'Claimed', projectId })
  const { body } = await owner.post(`/tasks/${id}/claim`, { leaseSeconds: 600 })
  return { id, seq: (body as unknown as { claim: { seq: number } }).claim.seq }
}

const notFoundIn = ({ path }: Call) => {
  const entity = /^\/(?:tasks\/)?(\w+)s\/\{/.exec(path)?.[1] ?? 'project'
  return `${entity[0]!.toUpperCase()}${entity.slice(1)} not found`
}
const mapIds = (rows: Rows, change: (id: string) => string): Rows => {
  const ids = Object.entries(rows).map(([name, id]) => [name, change(id)])
  return { ...Object.fromEntries(ids), inviteeEmail: rows.inviteeEmail }
}
const inUpperCase = (rows: Rows) => mapIds(rows, (id) => id.toUpperCase())

test.each(inProject)(
  '$id: a stranger, an unknown id and a token of another project get the same 404',
  async (call) => {
    const hidden = await reject(call, stranger.token, 404, notFoundIn(call))
    for (const id of [unknownId, ...malformedIds]) {
      const unknown = await reject(
        call,
        owner.token,
        404,
        notFoundIn(call),
        mapIds(shared, () => id),
      )
      expect([id, unknown.text]).toEqual([id, hidden.text])
      expect([...unknown.headers.keys()]).toEqual([...hidden.headers.keys()])
    }
    if (scopeOf(call)) await reject(call, boundElsewhere.token, 404, notFoundIn(call))
    expect(idle.services.actors.load()).toMatchObject({ known: 0, leases: 0 })
  },
)

/** The service must read events or the author of a row to check these rights. */
const needsProject = /^(undoProject|updateComment|deleteComment|removeMember)$/

test.each(inProject)(
  '$id: a role below $role and a scope below that of the document get 403',
  async (call) => {
    const lower = roles[roles.indexOf(call.role!) - 1]
    const at = needsProject.test(call.id) ? service : idle
    if (lower)
      await reject(call, people[lower].token, 403, /This needs the role|^Only the author/, shared, at)
    expect(idle.services.actors.load()).toMatchObject({ known: 0, leases: 0 })
    await expectScope(call, tokens, shared)
  },
)

/** Each scope includes the scopes before it. */
async function expectScope(call: Call, own: { token: string }[], rows: Rows): Promise<void> {
  const scope = scopeOf(call)
  expect(call.operation['x-scope']).toBe(scope)
  const below = scope ? scopes.indexOf(scope) - 1 : scopes.length - 1
  const message = scope
    ? `This needs an API token with the scope ${scope}`
    : 'This needs a sign-in token, not an API token'
  if (below >= 0) await reject(call, own[below]!.token, 403, message, rows, service)
}

test.each(calls.filter(({ operation }) => operation.security.length))(
  '$id: a caller without a token gets 401 whatever the request, and an owner gets 400 for unknown parameters',
  async (call) => {
    const path = pathOf(call, shared)
    const at = (query: string) => `${path}${path.includes('?') ? '&' : '?'}${query}`
    const body = call.method === 'GET' ? undefined : '{'
    expectError(
      await client.call(call.method, at('x=1'), body, { 'content-type': 'text/plain' }),
      401,
      /required/,
    )
    for (const [query, message] of [
      ['x=1&%78=2', 'x is given more than once'],
      ['=1&=2', '"" is given more than once'],
      ['toString=1', /^toString is not known here/],
    ] as const) {
      const answer = await owner.call(call.method, at(query), call.method === 'GET' ? undefined : {})
      expectError(expectDocumented(call, answer), 400, message)
    }
  },
)

test('all these rejected requests have changed nothing', async () => {
  const [first, second] = [shared, elsewhere].map(({ projectId }) => countEvents(projectId))
  expect(await first).toBe(await second!)
})

/** The number of events that a write makes, if it is not one. */
const eventCounts: Record<string, number> = {
  ...{ batchProject: 3, createServiceAccount: 2, deleteServiceAccount: 2, releaseTask: 0, testWebhook: 0 },
  ...{ createImport: 0, cancelImport: 0 },
}

// The undo of an import waits for a worker.
test.each(inProject.filter(({ id }) => id !== 'undoImport'))(
  '$id: the role $role suffices, with a token of its scope and project; writes happen once for each Idempotency-Key, during a claim',
  async (call) => {
    const isRead = call.method === 'GET'
    const rows = isRead ? shared : await createRows(people, guest, sql, call)
    const person = people[call.role!]
    const scope = scopeOf(call)
    const over = { scopes: [scope], projects: [rows.projectId] }
    const token = scope ? (await makeToken(person, over)).token : person.token
    if (isRead) {
      const answer = expectDocumented(call, await send(client.as(token), call, rows))
      expect(answer.status).toBe(200)
      const same = await send(client.as(token), call, inUpperCase(rows))
      if (call.id !== 'exportProject') expect(same.text).toBe(answer.text)
      const condition = { 'if-none-match': answer.headers.get('etag') ?? '"none"' }
      const again = expectDocumented(call, await send(client.as(token), call, rows, condition))
      return expect(again.status).toBe(answer.headers.has('etag') ? 304 : 200)
    }
    const claim = has(call, 'Docket-If-Claim') && (await claimTask(rows.projectId))
    const ifClaim = (ago: number): Record<string, string> =>
      claim ? { 'docket-if-claim': `${claim.id} ${claim.seq - ago}` } : {}
    const before = await countEvents(rows.projectId)
    if (claim) await reject(call, token, 412, 'The claim with this seq has ended', rows, service, ifClaim(1))
    const key = { 'idempotency-key': newId(), ...ifClaim(0) }
    if (!has(call, 'If-Match')) Object.assign(key, { 'if-match': '"other"' })
    const repeat = (n: number) =>
      send((n % 2 ? service : other).client.as(token), call, inUpperCase(rows), key)
    const answers = [...(await Promise.all(upTo(4).map(repeat))), await repeat(1)]
    for (const answer of answers) expectDocumented(call, answer)
    expect(new Set(answers.map((one) => JSON.stringify(replayedParts(one)))).size).toBe(1)
    expect(answers[0]!.status).toBe(call.id === 'upsertTask' ? 201 : call.success)
    expect(answers.filter((one) => !isReplay(one))).toHaveLength(1)
    expect((await countEvents(rows.projectId)) - before).toBe(eventCounts[call.id] ?? 1)
    const locations = new Set(answers.map(({ headers }) => headers.get('location')))
    expect(locations.size).toBe(1)
    const [location] = locations
    if (answers[0]!.status === 202) return
    if (answers[0]!.status !== 201) return expect(location).toBeNull()
    const { status } = await owner.delete(location!.replace('/api/v1', ''))
    expect([location, [200, 204].includes(status)]).toEqual([location, true])
  },
)

const lists = calls.filter((call) => has(call, 'limit'))

test('every list has pages, which together contain the rows of the list in the same order', async () => {
  const rows = await createRows(people, guest, sql)
  // Creates a second row of each entity.
  for (const call of inProject)
    if (call.success === 201) expect((await send(owner, call, rows)).status).toBe(201)
  expect(lists).toHaveLength(18)
  for (const call of lists) {
    const path = pathOf(call, rows)
    const whole = expectDocumented(call, await owner.get(path))
    const pages = await allPages(owner, `${path}${path.includes('?') ? '&' : '?'}limit=1`)
    expect([call.id, pages.flat()]).toEqual([call.id, [...whole.body]])
    for (const page of pages.slice(0, -1)) expect(page).toHaveLength(1)
    if (!/search|Import|Deliveries|ViewTasks/.test(call.id))
      expect([call.id, pages.length > 1]).toEqual([call.id, true])
  }
})

test.each(ofAccount)('$id: a token needs the documented scope', async (call) => {
  const person = await register(client)
  const own = await Promise.all(scopes.map((scope) => makeToken(person, { scopes: [scope] })))
  const rows = { ...shared, tokenId: own[0]!.id }
  await expectScope(call, own, rows)
  const scope = scopeOf(call)
  const token = scope ? own[scopes.indexOf(scope)]!.token : person.token
  const answer = expectDocumented(call, await send(client.as(token), call, rows))
  // This service has no mail server.
  expect(answer.status).toBe(call.id === 'resendVerification' ? 409 : call.success)
})

test('everything in a deleted project gets 404 immediately, also for its owner', async () => {
  const rows = await createRows(people, guest, sql)
  expect((await owner.delete(`/projects/${rows.projectId}`)).status).toBe(200)
  for (const call of inProject) await reject(call, owner.token, 404, notFoundIn(call), rows, service)
})

test("a deleted task and its children get 404 immediately, but the task's history can still be read", async () => {
  const rows = await createRows(people, guest, sql)
  expect((await owner.delete(`/tasks/${rows.taskId}`)).status).toBe(200)
  for (const call of inProject.filter(({ path }) => /^\/tasks\/.*\{/.test(path)))
    if (call.id !== 'listTaskHistory') await reject(call, owner.token, 404, notFoundIn(call), rows, service)
    else expect((await send(owner, call, rows)).status).toBe(200)
})
