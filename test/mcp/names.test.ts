import { invite, make, openScene, register, versionOf } from '../kit.ts'
import { connect } from './mcp-client.ts'

const { service, client, ada, bea, cay } = await openScene(['Ada', 'Bea', 'Cay'])
const project = await make(ada, '/projects', { name: 'Engine' })
const path = `/projects/${project.id}`
const member = await invite(ada, project.id, bea, 'EDITOR')
const { call } = await connect(service, ada.token)
const asBea = await connect(service, bea.token)

let keys = 0
const apply = (operations: object[], over: object = {}) =>
  call<
    Record<string, string> & { ids: Record<string, string>; candidates: { id: string; names: string[] }[] }
  >('apply', {
    ...{ project: 'ENGINE', key: `key ${++keys}`, operations, ...over },
  })
const taskIn = async (operation: object) => {
  const { body } = await apply([{ op: 'task.create', as: 'new', title: 'Draw', ...operation }])
  return (await ada.get(`/tasks/${body.ids.new}`)).body as unknown as {
    assigneeId: string
    labelIds: string[]
  }
}

test('email, name and me are accepted in place of the id of a user', async () => {
  for (const assigneeId of [bea.email.toUpperCase(), 'bea', bea.id])
    expect((await taskIn({ assigneeId })).assigneeId).toBe(bea.id)
  expect((await taskIn({ assigneeId: 'me' })).assigneeId).toBe(ada.id)
  expect((await taskIn({ assigneeId: null })).assigneeId).toBe(null as never)
})

test('names are accepted in place of the ids of labels, custom fields, views and members', async () => {
  const bug = await make(ada, `${path}/labels`, { name: 'Bug' })
  await make(ada, `${path}/fields`, { key: 'size', name: 'Size', type: 'text' })
  await make(ada, `${path}/views`, { name: 'Late', query: {} })
  expect((await taskIn({ labelIds: ['bug'] })).labelIds).toEqual([bug.id])
  await taskIn({ labelIds: [bug.id], assigneeId: bea.id })
  const claimed = await asBea.call<{ task: { labelIds: string[] } }>('claim_next', {
    ...{ project: 'Engine', leaseSeconds: 60, labels: ['bug'], assigneeId: 'me' },
  })
  expect(claimed.body.task.labelIds).toEqual([bug.id])
  const operations = [
    { op: 'label.create', as: 'new', name: 'Urgent' },
    { op: 'task.create', title: 'Oil', labelIds: ['#new', 'Bug'] },
    { op: 'label.update', id: 'bug', name: 'Defect' },
    { op: 'field.update', id: 'size', name: 'Width' },
    { op: 'view.delete', id: 'late' },
    { op: 'member.set_role', memberId: 'Bea', role: 'ADMIN' },
    { op: 'member.invite', as: 'cay', email: cay.email },
    { op: 'member.remove', memberId: '#cay', revoke: false },
  ]
  expect((await apply(operations)).isError).toBe(false)
  const lists = await Promise.all(
    ['labels', 'fields', 'views', 'members'].map((name) => ada.get(`${path}/${name}`)),
  )
  expect(lists.map(({ body }) => body.map(({ name, role }) => name ?? role))).toEqual([
    ['Defect', 'Urgent'],
    ['Width'],
    [],
    ['ADMIN'],
  ])
  expect(lists[3]!.body[0]!.id).toBe(member.id)
})

test('an email or me never selects another user who has this text as a name', async () => {
  for (const name of ['me', cay.email]) await invite(ada, project.id, await register(client, name))
  expect((await taskIn({ assigneeId: 'me' })).assigneeId).toBe(ada.id)
  expect((await apply([{ op: 'task.create', title: 'Draw', assigneeId: cay.email }])).body.status).toBe(
    404 as never,
  )
  await invite(ada, project.id, cay)
  expect((await taskIn({ assigneeId: cay.email })).assigneeId).toBe(cay.id)
})

test('a name is found in every Unicode form', async () => {
  const { id } = await make(ada, `${path}/labels`, { name: 'Prüfung ガ' })
  await invite(ada, project.id, await register(client, 'Zoë'.normalize('NFD')), 'EDITOR')
  for (const form of ['NFC', 'NFD', 'NFKC', 'NFKD']) {
    const name = (text: string) => text.normalize(form)
    expect((await taskIn({ labelIds: [name('prüfung\u00a0ガ')] })).labelIds).toEqual([id])
    expect((await taskIn({ assigneeId: name('zoë') })).assigneeId).not.toBeNull()
  }
})

test('a repeated call gets the first answer, even if its names no longer exist or belong to other rows', async () => {
  await make(ada, `${path}/labels`, { name: 'Old' })
  const rename = [{ op: 'label.update', id: 'old', name: 'New' }]
  const first: object = (await apply(rename, { key: 'rename' })).body
  expect((await apply(rename, { key: 'rename' })).body).toMatchObject({ ...first, replayed: true })
  await make(ada, `${path}/labels`, { name: 'Old' })
  expect((await apply(rename, { key: 'rename' })).body).toMatchObject({ ...first, replayed: true })
  const other = [{ op: 'label.delete', id: 'missing' }]
  expect((await apply(other, { key: 'rename' })).body.status).toBe(422 as never)
  expect((await apply(other, { key: 'fresh' })).body.error).toContain('No label has the name')
})

test('the error of an unknown or ambiguous name contains candidates, and nothing changes', async () => {
  const before = await versionOf(ada, project.id)
  const unknown = await apply([{ op: 'task.create', title: 'Draw', assigneeId: 'Baa' }])
  expect(unknown.body).toMatchObject({ status: 404, do: expect.stringContaining('candidate') })
  expect(unknown.body.error).toContain(
    'operations[0].assigneeId: No user has the name or id "Baa"; did you mean Bea?',
  )
  expect(unknown.body.candidates[0]).toEqual({ id: bea.id, names: ['Bea', bea.email] })
  const other = await apply([], { project: 'Engin', operations: [{ op: 'task.create', title: 'Draw' }] })
  expect(other.body).toMatchObject({ status: 404, candidates: [{ id: project.id, names: ['Engine'] }] })
  const task = await make(ada, '/tasks', { projectId: project.id, title: 'Draw' })
  const removed = [{ op: 'task.update', id: task.id, title: 'Cast', removeLabelIds: ['Missing'] }]
  expect((await apply(removed)).body.error).toContain('No label has the name or id "Missing"')
  await ada.delete(`/tasks/${task.id}`)
  expect(await versionOf(ada, project.id)).toBe(before + 2)

  await invite(ada, project.id, await register(client, 'Bea'))
  const twins = await apply([{ op: 'task.create', title: 'Draw', assigneeId: 'Bea' }])
  expect(twins.body.status).toBe(409 as never)
  expect(twins.body.candidates).toHaveLength(2)
  const same = await make(ada, '/projects', { name: 'Engine' })
  const engines = await apply([{ op: 'task.create', title: 'Draw' }])
  expect(engines.body.candidates.map(({ id }) => id).sort()).toEqual([project.id, same.id].sort())
})
