import { invite, make, openScene, withToken } from '../kit.ts'
import { internalError, outcomeUnknown } from '../../src/responses/errors.ts'
import { errorOf } from '../../modules/mcp/advice.ts'
import { connect, maxAnswerCharacters } from './mcp-client.ts'

const { service, ada, bea, cay } = await openScene(['Ada', 'Bea', 'Cay'])
const project = await make(ada, '/projects', { name: 'Engine' })
await invite(ada, project.id, bea, 'EDITOR')
await invite(ada, project.id, cay, 'VIEWER')
const asAda = await connect(service, ada.token)
const asBea = await connect(service, bea.token)
const asCay = await connect(service, cay.token)

let keys = 0
const apply = (operations: object[], over: object = {}, { call } = asAda) =>
  call('apply', { project: 'engine', key: `key ${++keys}`, operations, ...over })
const newTask = () => make(ada, '/tasks', { projectId: project.id, title: 'Draw' })

interface Expected {
  status: number
  error?: string
  do: string
  [detail: string]: unknown
}

/** Checks that an answer is an error with these fields, and that `error` and `do` contain these texts. */
function expectError({ isError, body }: Awaited<ReturnType<typeof apply>>, expected: Expected): void {
  const { error = '', do: advice, ...details } = expected
  expect({ ...body, isError }).toMatchObject({ isError: true, ...details })
  expect(body.error).toContain(error)
  expect(body.do).toContain(advice)
}

test('the key of other operations gets 422 and the advice to use a new key', async () => {
  await apply([{ op: 'task.create', title: 'One' }], { key: 'used' })
  const answer = await apply([{ op: 'task.create', title: 'Two' }], { key: 'used' })
  expectError(answer, { status: 422, do: 'Use a new key' })
})

const create = { op: 'task.create', title: 'One' }
const id = '019a2b3c-4d5e-7f60-8a9b-0c1d2e3f4a5b'
const misspelt = {
  status: 400,
  operation: 0,
  op: 'task.create',
  error: 'did you mean title?',
  do: 'same key',
}
const missing = { status: 404, error: 'Task not found', do: 'find' }
const frame = { op: 'task.create', as: 'frame', title: 'Cast the frame' }
const lost = { status: 400, operation: 1, field: 'taskId', value: '#fram', do: 'Correct' }

const rejected: [what: string, operations: object[], expected: Expected, over?: object][] = [
  ['no operation', [], { status: 400, error: 'operations must be a list of 1 to 500', do: 'operations' }],
  [
    'an operation without a name',
    [{}],
    { status: 400, error: 'operations.0.op is required', do: 'operations' },
  ],
  ['an invalid key', [create], { status: 400, error: 'key must be', do: 'key' }, { key: 'é' }],
  [
    'an unknown operation',
    [create, { op: 'tasks.updte' }],
    {
      ...{ status: 400, operation: 1, error: 'did you mean task.update?', do: 'operation' },
      operations: expect.arrayContaining(['task.create']),
    },
  ],
  [
    'an unknown field',
    [{ op: 'task.create', titel: 'One' }],
    { ...misspelt, fields: expect.arrayContaining(['labelIds']) },
  ],
  [
    'an unknown #name',
    [frame, { op: 'subtask.create', taskId: '#fram', title: 'Order brass' }],
    { ...lost, error: 'did you mean #frame?' },
  ],
  [
    'an unknown id',
    [create, { op: 'comment.create', taskId: id, text: 'Two' }],
    { ...missing, operation: 1, field: 'taskId', value: id },
  ],
  [
    'the unknown id of a row',
    [{ op: 'task.delete', id }],
    { ...missing, operation: 0, field: 'id', value: id },
  ],
  [
    'the unknown id of a label',
    [{ ...create, labelIds: [id] }],
    { status: 400, error: 'labelIds must be', field: 'labelIds', do: 'same key' },
  ],
  [
    'the email of nobody',
    [{ op: 'member.invite', email: 'nobody@example.com' }],
    { status: 404, field: 'email', do: 'register' },
  ],
  ['an unknown project', [create], { status: 404, do: 'projects' }, { project: id }],
]

for (const [what, operations, expected, over] of rejected)
  test(`${what} gets ${expected.status}, the place, and the names that are meant`, async () =>
    expectError(await apply(operations, over), expected))

test('the error of a long name is short, and an unknown task or batch gets 404', async () => {
  expect((await apply([{ op: '図'.repeat(10_000) }])).text.length).toBeLessThan(2_000)
  expectError(await asAda.call('extend_or_release', { id: 'a b\n', seq: 1 }), { status: 404, do: 'find' })
  const undone = await asAda.call('undo', { project: 'Engine', batch: 999, key: 'none' })
  expectError(undone, { status: 404, do: '`batch` of an answer of apply' })
})

test('the error of a changed row advises to read the row', async () => {
  const { id } = await newTask()
  const stale = await apply([{ op: 'task.update', id, was: { status: 'DONE' }, title: 'Two' }])
  expectError(stale, { status: 409, operation: 0, error: 'status', do: 'get' })
  const old = await apply([{ op: 'task.update', id, ifMatch: '"old"', title: 'Two' }])
  expectError(old, { status: 412, operation: 0, do: 'get' })
})

test('the error of a text without ifMatch contains the current text and ETag, with which the same key succeeds', async () => {
  const strict = await make(ada, '/projects', { name: 'Strict', textEdits: 'if-match' })
  const { id } = await make(ada, '/tasks', { projectId: strict.id, title: 'Draw', description: 'A' })
  const onStrict = (operations: object[]) => apply(operations, { project: 'Strict', key: 'text' })
  const update = { op: 'task.update', id, title: 'Draw', description: 'C' }
  const etag = (await ada.get(`/tasks/${id}`)).headers.get('etag')!
  const current = { id, etag, description: 'A' }
  for (const more of [{}, { ifMatch: '*' }]) {
    const answer = await onStrict([{ ...update, ...more }])
    expectError(answer, { status: 428, operation: 0, do: 'ifMatch: current.etag' })
    expect(answer.body.current).toEqual(current)
  }
  expect((await onStrict([{ ...update, ifMatch: etag }])).isError).toBeFalse()
  const append = { op: 'task.append', id, field: 'description', text: '"'.repeat(19_000) }
  expect((await apply([append], { project: strict.id })).isError).toBeFalse()
  const long = await apply([{ ...update, title: 'T'.repeat(500), description: '"'.repeat(20_000) }], {
    project: strict.id,
  })
  expectError(long, { status: 428, do: 'read it with get' })
  expect(long.text.length).toBeLessThan(maxAnswerCharacters)
  expect(JSON.stringify(long.body.current)).toContain('…')
  const { body } = await asAda.call('projects', { project: 'Strict' })
  expect(body).toMatchObject({ textEdits: 'if-match' })
})

test('the error of a missing role or scope names the role or scope', async () => {
  const operations = [{ op: 'task.create', title: 'One' }]
  expectError(await apply(operations, {}, asCay), {
    status: 403,
    needs: { role: 'EDITOR' },
    do: 'role EDITOR',
  })
  const invitation = [{ op: 'member.invite', email: cay.email }]
  expectError(await apply(invitation, {}, asBea), { status: 403, needs: { role: 'ADMIN' }, do: 'role ADMIN' })
  const writer = await connect(service, (await withToken(ada, { scopes: ['write'] })).token)
  const limited = await apply(invitation, {}, writer)
  expectError(limited, { status: 403, needs: { scope: 'admin' }, do: 'scope admin' })
})

test('the error of a claimed task contains the holder and the end of the claim', async () => {
  const { id } = await newTask()
  await apply([{ op: 'task.claim', id, leaseSeconds: 60 }], {}, asBea)
  const { claim } = (await ada.get(`/tasks/${id}`)).body as unknown as {
    claim: { until: string; seq: number }
  }
  const held = { status: 409, holder: 'Bea', until: claim.until, do: claim.until }
  expectError(await apply([{ op: 'task.claim', id, leaseSeconds: 60 }]), { ...held, operation: 0 })
  expectError(await asAda.call('extend_or_release', { id }), held)
  const ifClaim = { taskId: id, seq: claim.seq }
  await asBea.call('extend_or_release', { id, seq: claim.seq })
  const ended = await apply([{ op: 'task.update', id, status: 'DONE' }], { ifClaim }, asBea)
  expectError(ended, { status: 412, do: 'claim_next' })
  const late = await asBea.call('extend_or_release', { id, leaseSeconds: 60 })
  expectError(late, { status: 409, error: 'has ended', do: 'claim_next' })
  const later = await asBea.call('extend_or_release', { id, leaseSeconds: 60, seq: claim.seq })
  expectError(later, { status: 412, do: 'claim_next' })
})

test('the error of an undo contains the seqs of later changes of the same fields', async () => {
  const { id } = await newTask()
  const { body } = await apply([{ op: 'task.update', id, title: 'Two' }])
  await apply([{ op: 'task.update', id, title: 'Three' }])
  const later = Number(body.batch) + 1
  const answer = await asAda.call('undo', { project: project.id, batch: body.batch, key: 'late' })
  expectError(answer, { status: 409, laterSeqs: [later], do: `seq ${later}` })
})

test('the error of a change that cannot be undone advises to use apply', async () => {
  const answer = await asAda.call('undo', { project: project.id, batch: 1, key: 'creation' })
  expectError(answer, { status: 409, error: "A project's creation cannot be undone", do: 'apply' })
})

test('the error of an unknown outcome advises to repeat the call with its key, or to read first without a key', () => {
  const error = errorOf(outcomeUnknown(), { key: 'a' })
  expect([error.advice, error.details]).toEqual([
    'Send the same call again with the same key in 1 s',
    { retryAfterSeconds: 1 },
  ])
  expect(errorOf(outcomeUnknown()).advice).toContain('before you repeat')
  expect(errorOf(internalError(), { key: 'a' }).advice).toContain('same key')
})
