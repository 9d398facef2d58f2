import { expect, test } from 'bun:test'
import { type OpenApi, operationsOf } from '../support/schema-check.ts'
import { openDocument } from './open-document.ts'
import { words } from '../support/words.ts'

const api: OpenApi & { info: { description: string } } = JSON.parse(await openDocument())

test('operations are called by what they do', () => {
  const ids = [...operationsOf(api).values()].map(({ operationId }) => operationId)
  expect(ids).toEqual(
    expect.arrayContaining([
      ...['register', 'login', 'logout', 'logoutAll', 'getMe', 'updateMe', 'deleteMe'],
      ...words('createProject listProjects getProject updateProject deleteProject batchProject undoProject'),
      ...['inviteMember', 'listMembers', 'setMemberRole', 'removeMember'],
      ...['createTask', 'listTasks', 'getTask', 'updateTask', 'deleteTask'],
      ...['createSubtask', 'listSubtasks', 'toggleSubtask', 'updateSubtask', 'deleteSubtask'],
      ...['createToken', 'listTokens', 'deleteToken'],
      ...['createServiceAccount', 'listServiceAccounts', 'deleteServiceAccount'],
      ...['createServiceAccountToken', 'listServiceAccountTokens', 'deleteServiceAccountToken'],
      ...['createComment', 'listComments', 'updateComment', 'deleteComment', 'listEvents'],
      ...['followProjects', 'readEvents'],
      ...['listProjectHistory', 'listTaskHistory'],
      ...['createWebhook', 'listWebhooks', 'getWebhook', 'updateWebhook', 'deleteWebhook'],
      ...['rotateWebhook', 'testWebhook', 'replayWebhook', 'listWebhookDeliveries'],
    ]),
  )
  for (const id of ids) expect(id).toMatch(/^[a-z]+([A-Z][a-z]+)*$/)
  expect(new Set(ids).size).toBe(ids.length)
})

test('what crosses the wire has a name, and is named wherever it is shown', () => {
  const resources = words(`
    User Project Member Task Subtask Comment Event TaskEvent ApiToken ServiceAccount Webhook
    WebhookDelivery Error`)
  const lists = ['TaskStatus', 'TaskPriority', 'TaskSort', 'Role', 'EventType']
  expect(Object.keys(api.components.schemas)).toEqual(expect.arrayContaining([...resources, ...lists]))
  for (const [name, { responses, requestBody }] of operationsOf(api)) {
    const shown = [requestBody, ...Object.values(responses)].flatMap((one) =>
      Object.values(one?.content ?? {}),
    )
    for (const { schema } of shown)
      expect([name, schema.$ref ?? schema.items?.$ref]).toEqual([name, expect.stringContaining('/schemas/')])
  }
})

test('a choice says what there is to choose from, as its refusal does', () => {
  const choices = Object.entries(api.components.schemas).filter(([, one]) => one.enum)
  expect(choices.map(([name]) => name)).toContain('DryRun')
  for (const [name, one] of choices)
    expect([name, one]).toEqual([
      name,
      expect.objectContaining({ description: expect.stringContaining(`One of ${one.enum!.join(', ')}`) }),
    ])
})

test('a limit is a whole number with bounds', () => {
  const limits = [...operationsOf(api)].flatMap(([name, { parameters }]) =>
    parameters.filter((one) => one.name === 'limit').map(({ schema }) => [name, schema] as const),
  )
  expect(limits).toHaveLength(11)
  for (const [name, schema] of limits) {
    const own: Record<string, number[]> = { projects: [1_000, 1_000], events: [500, 100] }
    const [most, unlessTold] = own[name.split('/').at(-1)!] ?? [200, 50]
    expect([name, schema]).toEqual([
      name,
      { type: 'integer', minimum: 1, maximum: most, default: unlessTold },
    ])
  }
})

test('the introduction tells of all that holds everywhere, in figures that are those of this service', () => {
  const { description } = api.info
  const headings = [...description.matchAll(/^## (.*)$/gm)].map(([, heading]) => heading)
  expect(headings).toEqual([
    'A token in two requests',
    'Email addresses',
    'Tokens for programs',
    'Roles',
    'Errors',
    'Lists and pages',
    'Following a project',
    'Webhooks',
    'The past',
    'Doing a write once',
    'Many writes in one',
    'Undo',
    'Conditions',
    'Limits',
  ])
  expect(description).not.toMatch(/\{\w+\}/)
  expect(description).toContain('lives for 7 days')
})
