import { createFullProject, fillPath, make, makeToken, openTeam, operationsOf, register } from '../kit.ts'
import { resolveSchema, seqOf, undocumentedParts, unreachableUrl } from '../kit.ts'
import type { Answer, Body, OpenApi, Operation, Person, ProjectParts, Schema } from '../kit.ts'
import { maxMoved } from '../../src/log/children.ts'

import { openWrongImports } from './wrong-imports.ts'

/** A task that cannot be moved because it has too many comments, and the target project of the move. */
let full: Body
let elsewhere: Body
/** A project whose first 16 events have expired. */
let aged: Body
let agedWebhook: Body

async function fillTask(): Promise<void> {
  elsewhere = await make(people.owner, '/projects', { name: 'Elsewhere' })
  full = await make(people.owner, '/tasks', { title: 'Full', projectId: things.projectId })
  await sql`
    insert into comments (id, task_id, author_id, text, created_at, updated_at, event_id)
    select uuidv7(), ${full.id}, ${people.owner.id}, 'Words', now(), now(), uuidv7()
    from generate_series(0, ${maxMoved.rows}::int4)`
}

async function ageProject(): Promise<void> {
  const { id: projectId } = await make(people.owner, '/projects', { name: 'Aged' })
  const operations = Array(15).fill({ op: 'task.create', title: 'T' })
  await people.owner.post(`/projects/${projectId}/batch`, { operations })
  aged = await make(people.owner, '/tasks', { title: 'Last', projectId })
  agedWebhook = await make(people.owner, `/projects/${projectId}/webhooks`, { url: unreachableUrl })
  await sql`delete from events where project_id = ${projectId} and seq < 17`
}

const nobody = '019a2b3c-4d5e-7f60-8a9b-0c1d2e3f4a5b'
type Wrong = { who?: Person; path?: string; body?: unknown; headers?: Record<string, string> }

function send(name: string, operation: Operation, wrong: Wrong): Promise<Answer> {
  const [method = '', path = ''] = name.split(' ')
  const author = operation.operationId === 'updateComment' ? people.editor : people.owner
  const { who = author, body = bodyOf(operation), headers } = wrong
  return who.call(method.toUpperCase(), wrong.path ?? fill(path), operation.requestBody && body, headers)
}

const fill = (path: string, ids: Partial<ProjectParts> = {}): string =>
  fillPath(path, { ...things, tokenId: token.id, accountId, importId, ...ids })
const { client, sql, people } = await openTeam([], { HISTORY_DAYS: '30' })
const api = (await client.get('/../docs/json')).body as unknown as OpenApi
const operations: [name: string, operation: Operation][] = [...operationsOf(api)]
const things = await createFullProject(people, await register(client))
await fillTask()
await ageProject()
const done = await make(people.owner, '/tasks', {
  title: 'Done',
  projectId: things.projectId,
  status: 'DONE',
})
const bug = await make(people.owner, `/projects/${things.projectId}/labels`, { name: 'bug' })
const token = await makeToken(people.owner, { scopes: ['read'], projects: [things.projectId] })
const accounts = `/projects/${things.projectId}/service-accounts`
const { id: accountId } = await make(people.owner, accounts, { name: 'Importer' })
const { id: strictId } = await make(people.owner, '/projects', { name: 'Strict', textEdits: 'if-match' })
const strict = await make(people.owner, '/tasks', { title: 'Old', projectId: strictId, externalId: 'strict' })
const { importId, wrongImport } = await openWrongImports(sql, people.owner, things.projectId)
for (const one of [people.owner, people.editor])
  await one.post('/projects', { name: 'Engine' }, { 'idempotency-key': 'used' })

function bodyOf({ requestBody, operationId }: Operation): Record<string, unknown> | undefined {
  const example = requestBody?.content?.['application/json']?.example as Record<string, unknown> | undefined
  if (operationId === 'undoProject') return { seq: seqOf.subtask }
  return operationId === 'createTask' ? { ...example, projectId: things.projectId } : example
}

function wrongBody({ $ref = '' }: Schema): object {
  const { properties = {}, required = [] } = resolveSchema(api, $ref)
  return required.length > 0 ? {} : { [Object.keys(properties)[0]!]: 0 }
}

/** Returns, for each error status, the change of a valid request that causes it; undefined if a test cannot cause it. */
const wrongs: Record<number, (path: string, operation: Operation) => Wrong | undefined> = {
  400(path, { operationId, requestBody, parameters }) {
    if (operationId === 'search') return { path: '/search?q=x&limit=0' }
    if (requestBody) return { body: wrongBody(requestBody.content!['application/json']!.schema) }
    if (parameters.some(({ name }) => name === 'limit')) return { path: `${fill(path)}?limit=0` }
    if (parameters.some(({ name }) => name === 'revoke')) return { path: `${fill(path)}?revokes=true` }
    if (parameters.some(({ name }) => name === 'Idempotency-Key'))
      return { headers: { 'idempotency-key': '""' } }
    return { path: `${fill(path)}?x=1&x=2` }
  },
  401: (_, { operationId }) =>
    operationId === 'login' ? {} : { who: people.owner.as('not.a.token') as Person },
  403(_, { operationId, 'x-scope': scope }) {
    // Registration fails with this status only if REGISTRATION is changed.
    if (operationId === 'register') return undefined
    if (!scope || operationId === 'createProject') return { who: people.owner.as(token.token) as Person }
    return { who: people.viewer }
  },
  404(path, { operationId }) {
    if (operationId === 'createTask') return { body: { title: 'T', projectId: nobody } }
    if (/^(list|count)Tasks$/.test(operationId)) return { path: `${fill(path)}?projectId=${nobody}` }
    if (operationId === 'search') return { path: `/search?q=x&projectId=${nobody}` }
    if (operationId === 'inviteMember') return { body: { email: 'nobody@example.com' } }
    if (operationId === 'undoProject') return { body: { seq: 42 } }
    return { path: fill(path).replace(/(.*)[\w-]{36}/, `$1${nobody}`) }
  },
  409(_, operation) {
    const { operationId } = operation
    if (operationId === 'batchProject') return { body: { operations: [withOutdatedValue(things)] } }
    // These errors need a hundred tokens or webhooks, 5,000 integrations, a cycle of tasks, or a changed JWT_SECRET.
    if (/^create.*(Token|Webhook)$/.test(operationId)) return undefined
    if (/^(removeMember|deleteServiceAccount|testWebhook|releaseTask|upsertTask)$/.test(operationId))
      return undefined
    if (operationId === 'undoProject') return { body: { seq: 1 } }
    if (operationId === 'updateLabel') return { path: `/labels/${bug.id}`, body: { name: 'urgent' } }
    const own = ownIdOf(operationId)
    if (own) return { body: { ...bodyOf(operation), id: own } }
    if (operationId === 'claimTask') return { path: `/tasks/${done.id}/claim` }
    if (operationId === 'updateTask') return { path: `/tasks/${full.id}`, body: { projectId: elsewhere.id } }
    return /^(register|verifyEmail|resetPassword)$/.test(operationId)
      ? {}
      : { body: { email: people.viewer.email } }
  },
  410(path, { operationId, parameters }) {
    if (operationId === 'readEvents') return { body: { after: { [aged.projectId]: 0 } } }
    const inAged = fill(path, { projectId: aged.projectId, taskId: aged.id })
    if (operationId === 'undoProject') return { path: inAged, body: { seq: 1 } }
    if (operationId === 'replayWebhook')
      return { path: `/projects/${aged.projectId}/webhooks/${agedWebhook.id}/replay`, body: { after: 0 } }
    const where = parameters.some(({ name }) => name === 'asOf') ? 'asOf=1' : 'after=0'
    const project = /^(list|count)Tasks$/.test(operationId) ? `&projectId=${aged.projectId}` : ''
    return { path: `${inAged}?${where}${project}` }
  },
  412(_, operation) {
    const [name, value] = matches(operation)
      ? ['if-match', '"other"']
      : ['docket-if-claim', `${things.taskId} 1`]
    return { headers: { [name as string]: value as string } }
  },
  413: () => ({ body: JSON.stringify({ title: 'x'.repeat(1_048_576) }) }),
  414: (path) => ({ path: `${fill(path)}?x=${'x'.repeat(8_192)}` }),
  415: () => ({ headers: { 'content-type': 'text/plain' } }),
  422(path) {
    if (/auth\/(email|password)\//.test(path)) return undefined
    return { headers: { 'idempotency-key': 'used' } }
  },
  428(_, { operationId }) {
    if (operationId === 'updateTask') return { path: `/tasks/${strict.id}`, body: { title: 'New' } }
    const at = `/projects/${strictId}`
    if (operationId === 'upsertTask') return { path: `${at}/tasks/external/strict`, body: { title: 'New' } }
    const operations = [{ op: 'task.update', id: strict.id, title: 'New' }]
    return { path: `${at}/batch`, body: { operations } }
  },
}

function ownIdOf(operationId: string): string | undefined {
  const kind = /^create(Project|Task|Subtask|Comment|Field|Label|View)$/.exec(operationId)?.[1]
  return kind && things[`${kind.toLowerCase()}Id` as keyof ProjectParts]
}

const withOutdatedValue = ({ taskId: id }: ProjectParts) => {
  return { op: 'task.update', id, was: { status: 'IN_PROGRESS' }, title: 'T' }
}

test('every documented error is returned with exactly the documented text', async () => {
  const account = { name: 'Ada', email: 'ada@example.com', password: 'another one' }
  await client.post('/auth/register', account, { 'idempotency-key': 'used' })
  let compared = 0
  for (const [name, operation] of operations) {
    for (const [status, { content }] of Object.entries(operation.responses)) {
      const { operationId } = operation
      const wrong =
        wrongImport(operationId, Number(status)) ?? wrongs[Number(status)]?.(name.split(' ')[1]!, operation)
      if (!wrong) continue
      compared += 1
      const answer = await send(name, operation, wrong)
      expect([name, undocumentedParts(api, operation, answer)]).toEqual([name, []])
      const example = content?.['application/json']?.example
      // Documented errors contain placeholders instead of ids.
      const received = JSON.parse(answer.text.replaceAll(aged.projectId, nobody).replaceAll(importId, nobody))
      expect([name, received]).toEqual([name, example])
    }
  }
  expect(compared).toBeGreaterThan(150)
})

const matches = ({ parameters }: Operation) => parameters.some(({ name }) => name === 'If-Match')

test('a write without the documented header If-Match ignores it', async () => {
  for (const [name, operation] of operations) {
    const { operationId } = operation
    // Signing out would revoke the tokens of this test, and testWebhook waits for a receiver.
    if (name.startsWith('get ') || /^(logout|testWebhook)/.test(operationId) || matches(operation)) continue
    const { status } = await send(name, operation, { headers: { 'if-match': '"other"' } })
    expect([name, status]).not.toEqual([name, 412])
  }
})
