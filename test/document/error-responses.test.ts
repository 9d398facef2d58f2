import { make, makeToken, openTeam, runBatch, undocumentedParts, unreachableUrl } from '../kit.ts'
import { resolveSchema } from '../kit.ts'
import type { Person, Schema } from '../kit.ts'
import { bodyOf, type Call, createRows, pathOf, readCalls } from '../http/operations.ts'

const { client, sql, people, owner, guest } = await openTeam(['Guest'], { HISTORY_DAYS: '30' })
const { api, calls } = await readCalls(client)
const rows = await createRows(people, guest, sql)
const { projectId } = rows
const project = `/projects/${projectId}`
const newProject = async (fields: object = {}) =>
  (await make(owner, '/projects', { name: 'P', ...fields })).id
const newTask = (at: string, fields: object = {}) =>
  make(owner, '/tasks', { title: 'T', projectId: at, ...fields })

/** A project whose first 16 events have expired. */
const agedId = await newProject()
await runBatch(owner, agedId, Array(15).fill({ op: 'task.create', title: 'T' }))
const aged = { projectId: agedId, taskId: (await newTask(agedId)).id, webhookId: '' }
aged.webhookId = (await make(owner, `/projects/${agedId}/webhooks`, { url: unreachableUrl })).id
await sql`delete from events where project_id = ${agedId} and seq < 17`

/** A task that cannot be moved because it has too many comments. */
const full = await newTask(projectId)
await sql`insert into comments (id, task_id, author_id, text, created_at, updated_at, event_id)
  select uuidv7(), ${full.id}, ${owner.id}, 'Words', now(), now(), uuidv7()
  from generate_series(0, 5000)`

const elsewhere = await newProject()
const done = await newTask(projectId, { status: 'DONE' })
const bug = await make(owner, `${project}/labels`, { name: 'bug' })
const token = owner.as((await makeToken(owner, { scopes: ['read'], projects: [projectId] })).token) as Person
const strictId = await newProject({ textEdits: 'if-match' })
const strict = await newTask(strictId, { externalId: 'strict' })
const upload = { path: `${project}/imports?source=csv`, body: 'title' }
const unfinished = (await owner.post(upload.path, upload.body)).body.id
for (const one of [owner, people.editor])
  await one.post('/projects', { name: 'Engine' }, { 'idempotency-key': 'used' })
await client.post(
  '/auth/register',
  { name: 'Ada', email: 'ada@example.com', password: 'another one' },
  { 'idempotency-key': 'used' },
)

const nobody = '019a2b3c-4d5e-7f60-8a9b-0c1d2e3f4a5b'
type Wrong = { who?: Person; path?: string; body?: unknown; headers?: Record<string, string> }
const path = (call: Call) => pathOf(call, rows).replace(rows.importId, unfinished)
const has = ({ operation }: Call, parameter: string) =>
  operation.parameters.some(({ name }) => name === parameter)
const withQuery = (call: Call, query: string) => {
  const at = path(call)
  return { path: `${at}${at.includes('?') ? '&' : '?'}${query}` }
}

function wrongBody({ $ref = '' }: Schema): object {
  const { properties = {}, required = [] } = resolveSchema(api, $ref)
  return required.length > 0 ? {} : { [Object.keys(properties)[0]!]: 0 }
}

const ofImports: Record<string, Record<number, Wrong>> = {
  createImport: {
    400: { path: `${project}/imports` },
    409: upload,
    413: { ...upload, headers: { 'content-length': '67108865' } },
    415: { ...upload, headers: { 'content-encoding': 'br' } },
    422: { ...upload, headers: { 'idempotency-key': 'used' } },
  },
  cancelImport: { 409: { path: `/imports/${rows.importId}` } },
  undoImport: { 409: {} },
}

/** Returns, for each error status, the change of a valid request that causes it; undefined if a test cannot cause it. */
const wrongs: Record<number, (call: Call) => Wrong | undefined> = {
  400(call) {
    const { schema } = call.operation.requestBody?.content?.['application/json'] ?? {}
    if (schema) return { body: wrongBody(schema) }
    if (has(call, 'limit')) return withQuery(call, 'limit=0')
    if (has(call, 'revoke')) return withQuery(call, 'revokes=true')
    if (has(call, 'Idempotency-Key')) return { headers: { 'idempotency-key': '""' } }
    return withQuery(call, 'x=1&x=2')
  },
  401: ({ id }) => (id === 'login' ? {} : { who: owner.as('not.a.token') as Person }),
  403({ id, operation }) {
    // Registration fails with this status only if REGISTRATION is changed.
    if (id === 'register') return undefined
    return { who: !operation['x-scope'] || id === 'createProject' ? token : people.viewer }
  },
  404(call) {
    if (call.id === 'createTask') return { body: { title: 'T', projectId: nobody } }
    if (call.id === 'inviteMember') return { body: { email: 'nobody@example.com' } }
    if (call.id === 'undoProject') return { body: { seq: 42 } }
    return { path: path(call).replace(/(.*)[\w-]{36}/, `$1${nobody}`) }
  },
  409(call) {
    const own = ownIdOf(call.id)
    if (own) return { body: { ...(bodyOf(call, rows) as object), id: own } }
    // The other errors need a hundred tokens or webhooks, 5,000 integrations, a cycle of tasks, or a changed JWT_SECRET.
    return conflicts[call.id]
  },
  410(call) {
    if (call.id === 'readEvents') return { body: { after: { [agedId]: 0 } } }
    const at = pathOf(call, { ...rows, ...aged })
    if (call.id === 'undoProject') return { path: at, body: { seq: 1 } }
    if (call.id === 'replayWebhook') return { path: at, body: { after: 0 } }
    return { path: `${at}${at.includes('?') ? '&' : '?'}${has(call, 'asOf') ? 'asOf=1' : 'after=0'}` }
  },
  412(call): Wrong {
    if (has(call, 'If-Match')) return { headers: { 'if-match': '"other"' } }
    return { headers: { 'docket-if-claim': `${rows.taskId} 1` } }
  },
  413: () => ({ body: JSON.stringify({ title: 'x'.repeat(1_048_576) }) }),
  414: (call) => ({ path: `${path(call).replace(/\?.*/, '')}?x=${'x'.repeat(8_192)}` }),
  415: () => ({ headers: { 'content-type': 'text/plain' } }),
  422: (call) =>
    /auth\/(email|password)\//.test(call.path) ? undefined : { headers: { 'idempotency-key': 'used' } },
  428({ id }) {
    const at = `/projects/${strictId}`
    if (id === 'updateTask') return { path: `/tasks/${strict.id}`, body: { title: 'New' } }
    if (id === 'upsertTask') return { path: `${at}/tasks/external/strict`, body: { title: 'New' } }
    return { path: `${at}/batch`, body: { operations: [{ op: 'task.update', id: strict.id, title: 'New' }] } }
  },
}

function ownIdOf(id: string): string | undefined {
  const kind = /^create(Project|Task|Subtask|Comment|Field|Label|View)$/.exec(id)?.[1]
  return kind && rows[`${kind.toLowerCase()}Id` as keyof typeof rows]
}

const outdated = { op: 'task.update', id: rows.taskId, was: { status: 'IN_PROGRESS' }, title: 'T' }
const conflicts: Record<string, Wrong> = {
  batchProject: { body: { operations: [outdated] } },
  undoProject: { body: { seq: 1 } },
  updateLabel: { path: `/labels/${bug.id}`, body: { name: 'urgent' } },
  claimTask: { path: `/tasks/${done.id}/claim` },
  updateTask: { path: `/tasks/${full.id}`, body: { projectId: elsewhere } },
  inviteMember: { body: { email: people.viewer.email } },
  ...Object.fromEntries(
    ['register', 'verifyEmail', 'forgotPassword', 'resetPassword', 'resendVerification'].map((id) => [
      id,
      {},
    ]),
  ),
}

test('every documented error is returned with exactly the documented text', async () => {
  let compared = 0
  for (const call of calls)
    for (const [status, { content }] of Object.entries(call.operation.responses)) {
      const wrong = ofImports[call.id]?.[Number(status)] ?? wrongs[Number(status)]?.(call)
      if (!wrong) continue
      compared += 1
      const author = call.id === 'updateComment' ? people.editor : owner
      const { who = author, body = bodyOf(call, rows), headers } = wrong
      const answer = await who.call(
        call.method,
        wrong.path ?? path(call),
        call.operation.requestBody && body,
        headers,
      )
      expect([call.id, undocumentedParts(api, call.operation, answer)]).toEqual([call.id, []])
      // Documented errors contain placeholders instead of ids.
      const received = JSON.parse(answer.text.replaceAll(agedId, nobody).replaceAll(unfinished, nobody))
      expect([call.id, received]).toEqual([call.id, content?.['application/json']?.example])
    }
  expect(compared).toBeGreaterThan(150)
})
