import { anId, aTimestamp, expectError, expectResponse, faultsOf, invite, make } from '../kit.ts'
import { malformedIds } from '../kit.ts'
import { openTeam, readFeed, register, unknownId } from '../kit.ts'
import { versionOf, words } from '../kit.ts'
import type { Person } from '../kit.ts'
import { invalidNames, invalidTexts, validMultilineTexts, validTexts } from './sample-texts.ts'

const { client, owner, admin, viewer, stranger, sql } = await openTeam()
const guest = await register(client)

interface Place {
  projectId: string
  taskId: string
}
interface Kind {
  kind: string
  list: (at: Place) => string
  /** The path of POST, by default that of the list. */
  create?: (at: Place) => string
  path: (id: string, at: Place) => string
  /** The least that POST accepts; `n` makes the row differ from others. */
  body: (at: Place, n: number) => object
  /** The fields of a new row, without its id and its times. */
  shown: (at: Place) => object
  change: object
  types?: string
}

const userOf = ({ id, email }: Person) => ({ id, name: 'Someone', email })
const emptyTask = {
  ...{ description: null, status: 'TODO', priority: 'MEDIUM', dueDate: null, assigneeId: null, attempts: 0 },
  ...{ labelIds: [], blockedByIds: [], fields: {}, externalId: null, remindAt: null, claim: null },
  ...{ importedAuthor: null, updatedAt: aTimestamp },
}
const small = { key: 'k0', name: 'Size', type: 'choice', options: ['small', 'large'] }
const query = { status: 'TODO', sort: '-dueDate', limit: '5' }

/** A kind of rows that belong to a project or to a task. */
const rowsOf = (
  parent: 'project' | 'task',
  kind: string,
  one: Omit<Kind, 'kind' | 'list' | 'path'>,
): Kind => {
  const list = `${kind.toLowerCase()}s`
  return {
    ...{ kind, ...one },
    list: (at) => `/${parent}s/${at[`${parent}Id`]}/${list}`,
    path: (id) => (parent === 'task' ? `/tasks/${list}/${id}` : `/${list}/${id}`),
    shown: (at) => ({ [`${parent}Id`]: at[`${parent}Id`], ...one.shown(at) }),
  }
}
const kinds: Kind[] = [
  {
    ...{ kind: 'Task', list: ({ projectId }) => `/tasks?projectId=${projectId}`, create: () => '/tasks' },
    path: (id) => `/tasks/${id}`,
    body: ({ projectId }) => ({ projectId, title: ' Wheels ' }),
    shown: ({ projectId }) => ({
      projectId,
      title: 'Wheels',
      number: 1,
      position: 'j0000000001',
      ...emptyTask,
    }),
    change: { title: 'Cogs', description: 'D', status: 'DONE', priority: 'HIGH', assigneeId: viewer.id },
  },
  rowsOf('task', 'Subtask', {
    body: () => ({ title: ' Oil ' }),
    shown: () => ({ title: 'Oil', completed: false }),
    change: { title: 'Grease', completed: true },
  }),
  rowsOf('task', 'Comment', {
    body: () => ({ text: ' Slow ' }),
    shown: () => ({
      ...{ text: 'Slow', authorId: admin.id, author: { id: admin.id, name: 'Someone' } },
      ...{ authorRemoved: false, importedAuthor: null, updatedAt: aTimestamp },
    }),
    change: { text: 'Fast' },
  }),
  rowsOf('project', 'Label', {
    body: (_, n) => ({ name: ` L${n} ` }),
    shown: () => ({ name: 'L0', color: null }),
    change: { name: 'Fault', color: '#D73a4a' },
  }),
  rowsOf('project', 'Field', {
    body: (_, n) => ({ ...small, key: `k${n}`, name: ' Size ', options: [' small ', 'large'] }),
    shown: () => small,
    change: { name: 'Width', options: ['wide'] },
  }),
  rowsOf('project', 'View', {
    body: () => ({ name: ' Next ', query }),
    shown: () => ({ name: 'Next', query }),
    change: { name: 'Mine', query: { assigneeId: 'me' } },
  }),
  {
    ...rowsOf('project', 'Member', {
      body: () => ({ email: ` ${guest.email.toUpperCase()} ` }),
      shown: () => ({ userId: guest.id, user: userOf(guest), role: 'VIEWER' }),
      change: { role: 'EDITOR' },
      types: 'member.invited member.role_set member.removed',
    }),
    create: ({ projectId }) => `/projects/${projectId}/members/invite`,
    path: (id, { projectId }) => `/projects/${projectId}/members/${id}`,
  },
]
const isChild = (kind: string) => kind === 'Subtask' || kind === 'Comment'

async function placeFor({ kind }: Kind): Promise<Place> {
  const { id: projectId } = await make(owner, '/projects', { name: 'P' })
  if (kind !== 'Member') {
    await invite(owner, projectId, admin, 'ADMIN')
    await invite(owner, projectId, viewer)
  }
  const task = isChild(kind) ? await make(owner, '/tasks', { projectId, title: 'T' }) : undefined
  return { projectId, taskId: task?.id ?? '' }
}
const changeAt = ({ kind, path }: Kind, id: string, at: Place) =>
  path(id, at) + (kind === 'Member' ? '/role' : '')

test.each(kinds)('a $kind is created, changed, listed at each version, deleted and restored', async (one) => {
  const { kind, list, create = list, path, body, shown, change } = one
  const {
    types = ['created', 'updated', 'deleted'].map((verb) => `${kind.toLowerCase()}.${verb}`).join(' '),
  } = one
  const at = await placeFor(one)
  const [by, reader] = kind === 'Member' ? [owner, owner] : [admin, viewer]
  const before = await versionOf(owner, at.projectId)
  const created = await by.post(create(at), body(at, 0))
  expectResponse(created, 201, { id: anId, ...shown(at), createdAt: aTimestamp })
  const row = created.body
  expect(created.headers.get('location')).toEndWith(path(row.id, at))
  const patch = (fields: object) => by.patch(changeAt(one, row.id, at), fields)
  // The body of a read may be sent back; fields that no client sets are ignored.
  for (const same of [row, { ...row, id: unknownId }, ...(/Member|Comment/.test(kind) ? [] : [{}])]) {
    const answer = await patch(same)
    expectResponse(answer, 200, row)
    expect(answer.headers.get('etag')).toBe(created.headers.get('etag'))
  }
  // The times of the two writes must differ.
  await Bun.sleep(2)
  const changed = (await patch({ ...row, ...change })).body
  const stamp = 'updatedAt' in row ? { updatedAt: changed.updatedAt } : {}
  expect(changed).toStrictEqual({ ...row, ...change, ...stamp } as never)
  expect('updatedAt' in row && changed.updatedAt <= row.updatedAt).toBeFalse()
  expectResponse(await patch({ ...change }), 200, changed)
  expectResponse(await reader.get(list(at)), 200, [changed])
  const deleted = await by.delete(path(row.id, at))
  const done = `${kind} ${kind === 'Member' ? 'removed' : 'deleted'} successfully`
  expect([deleted.status, deleted.body.message]).toEqual([200, done])
  for (const id of [row.id, at.projectId, ...(isChild(kind) ? [at.taskId] : [])]) {
    expectError(await by.patch(changeAt(one, id, at), change), 404, `${kind} not found`)
    expectError(await by.delete(path(id, at)), 404, `${kind} not found`)
  }
  const separator = list(at).includes('?') ? '&' : '?'
  for (const [version, rows] of [[], [row], [changed], []].entries())
    expectResponse(await reader.get(`${list(at)}${separator}asOf=${before + version}`), 200, rows)
  const events = await readFeed(reader, `/projects/${at.projectId}/events?after=${before}`)
  expect(events.map(({ type }) => type)).toEqual(types.split(' '))
  const undone = await by.post(`/projects/${at.projectId}/undo`, { seq: before + 3 })
  expect([undone.status, (await reader.get(list(at))).body]).toEqual([200, [changed] as never])
  expect(await faultsOf(sql)).toEqual([])
})

type Values = [kind: string, field: string, valid: [sent: unknown, stored: unknown][], invalid: unknown[]]
const unchanged = (values: unknown[]): [unknown, unknown][] => values.map((one) => [one, one])
const noChoices = ['done', 'OPEN', '', ' DONE', 1, true, ['DONE'], {}]
const lines = invalidTexts(20_000)
const isBlank = (text: unknown) => text === null || /^\s*$/.test(String(text))
const optionalLines = lines.filter((text) => !isBlank(text))
const dates = words('2027-02-29 2027-01-31T17:00:00 0000-01-01 9999-12-31T23:59:59-01:00 tomorrow infinity 0')
const badDates = [...dates, '', ' 2027-01-31', '2027-01-31\n', '2027-01-31\0']
const dueDates: [string, string][] = [
  ['2027-01-31T17:00Z', '2027-01-31T17:00:00.000Z'],
  ['2027-01-31T17:00:00.123456789Z', '2027-01-31T17:00:00.123Z'],
  ['2027-01-01T00:30:00+01:00', '2026-12-31T23:30:00.000Z'],
  ['0001-01-01', '0001-01-01T00:00:00.000Z'],
  ['9999-12-31T23:59:59.999Z', '9999-12-31T23:59:59.999Z'],
]
const members = [owner, admin, viewer].map(({ id }) => id)
const values: Values[] = [
  ['Project', 'name', validTexts(200), invalidNames(200)],
  ['Project', 'description', [...validMultilineTexts(20_000), ['  ', null], [null, null]], optionalLines],
  [
    'Project',
    'textEdits',
    unchanged(['if-match', 'last-write-wins']),
    ['always', null, 'IF-MATCH', ...noChoices],
  ],
  ['Task', 'title', validTexts(500), invalidNames(500)],
  ['Task', 'description', [...validMultilineTexts(20_000), ['', null], [null, null]], optionalLines],
  ['Task', 'status', unchanged(words('DONE TODO IN_PROGRESS DONE IN_PROGRESS TODO')), [null, ...noChoices]],
  ['Task', 'priority', unchanged(words('LOW MEDIUM HIGH')), [null, ...noChoices]],
  [
    ...(['Task', 'assigneeId'] as const),
    [...unchanged([...members, null]), [viewer.id.toUpperCase(), viewer.id]],
    [stranger.id, unknownId, ...malformedIds, 'x'.repeat(101), ...noChoices],
  ],
  ['Task', 'dueDate', [...dueDates, [null, null]], [...badDates, 1767225600000, 0, true, {}, ['2027-01-31']]],
  ['Subtask', 'title', validTexts(500), invalidNames(500)],
  ['Comment', 'text', validMultilineTexts(20_000), lines],
  ['Label', 'name', validTexts(50), invalidNames(50)],
  ['Label', 'color', unchanged(['#D73a4a', null]), words('red #fff d73a4a #d73a4a0 #d73a4g').concat('')],
  ['Field', 'name', validTexts(100), invalidNames(100)],
  ['View', 'name', validTexts(100), invalidNames(100)],
]
const project: Kind = {
  ...{ kind: 'Project', list: () => '/projects', path: (id) => `/projects/${id}`, change: {} },
  ...{ body: () => ({ name: 'P' }), shown: () => ({}) },
}

test.each(values)('%s.%s is stored in its canonical form, and an invalid value gets 400', async (...row) => {
  const [name, field, valid, invalid] = row
  const kind = kinds.find(({ kind }) => kind === name) ?? project
  const { create = kind.list, path, body } = kind
  const [at, other] = [await placeFor(kind), await placeFor(kind)]
  let n = 0
  const post = (fields: object) => admin.post(create(other), { ...body(other, n++), ...fields })
  const target = name === 'Project' ? at.projectId : (await make(admin, create(at), body(at, 0))).id
  const patch = (value: unknown) => admin.patch(path(target, at), { [field]: value })
  for (const [sent, stored] of valid) {
    expect((await post({ [field]: sent })).body).toMatchObject({ [field]: stored })
    expect((await patch(sent)).body).toMatchObject({ [field]: stored })
  }
  const message = new RegExp(`^${field} must be`)
  for (const value of invalid) {
    expectError(await post({ [field]: value }), 400, message)
    expectError(await patch(value), 400, message)
  }
  const without = await post({ [field]: undefined })
  if (field in body(at, 0)) expectError(without, 400, new RegExp(`^${field} is required`))
  else expect(without.status).toBe(201)
})

test('the filters by due date accept and reject the same times', async () => {
  const list = (name: string, value: string) => owner.get(`/tasks?${name}=${encodeURIComponent(value)}`)
  for (const name of ['dueBefore', 'dueAfter']) {
    for (const [sent] of dueDates) expect((await list(name, sent)).status).toBe(200)
    for (const sent of badDates) expectError(await list(name, sent), 400, new RegExp(`^${name} must be`))
  }
})
