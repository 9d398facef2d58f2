import { expectError, make, makeToken, openScene, register, remainingBudget, unknownId } from '../kit.ts'
import { upTo, withService } from '../kit.ts'
import { get, project, search, task, titlesOf } from './scene.ts'

const { client, ada } = await openScene(['Ada'])
const engine = await project(ada, 'Engine')
await task(ada, engine, 'Oil the wheels')

const badText = 'q must be a text of 1 to 1000 characters'
const words = (count: number) =>
  upTo(count)
    .map((n) => `w${n}`)
    .join(' ')

test('q has 1 to 1,000 characters and 32 words, and without a word to find it finds nothing', async () => {
  for (const path of ['/search', '/tasks']) {
    for (const q of ['', '  ', 'x'.repeat(1_001)]) expectError(await get(ada, path, q), 400, badText)
    expectError(await get(ada, path, 'a\0b'), 400, `${badText}, but contains U+0000`)
    for (const q of [words(33), `${words(32)} -x`])
      expectError(await get(ada, path, q), 400, 'q must have at most 32 words and phrases')
    for (const q of ['-oil', '"', '--', '😀', '-"oil']) {
      const { status, body } = await get(ada, path, q)
      expect([q, status, body]).toMatchObject([q, 200, []])
    }
    for (const q of [words(32), 'x'.repeat(1_000), `  ${'x'.repeat(1_000)}  `])
      expect((await get(ada, path, q)).status).toBe(200)
  }
  expectError(await ada.get('/search'), 400, /^q is required: a text of 1 to 1000 characters/)
})

test('only the q of a search may be longer than a URL', async () => {
  const long = 'x'.repeat(15_000)
  for (const path of ['/search', '/tasks', '/tasks?status=TODO'])
    expectError(await ada.get(`${path}${path.includes('?') ? '&' : '?'}q=${long}`), 400, badText)
  for (const path of ['/projects', `/projects/${engine}/views`])
    expectError(await ada.get(`${path}?q=${long}`), 414)
  expectError(await ada.get(`/projects?cursor=${long}&q=x`), 414)
})

test('wrong parameters and asOf are rejected', async () => {
  const { message } = (await get(ada, '/search', 'oil', { asOf: '1' })).body
  expect(message).toBe('asOf is not known here')
  expectError(
    await get(ada, '/tasks', 'oil', { projectId: engine, asOf: '1' }),
    400,
    'q cannot be combined with asOf',
  )
  for (const rest of ['types=', 'types=task,', 'limit=0', 'limit=201', 'cursor=x', 'x=1', 'q=again'])
    expectError(await ada.get(`/search?q=oil&${rest}`), 400)
  const wrongTypes = 'types must be a list of task, comment, project, separated by commas'
  expectError(await get(ada, '/search', 'oil', { types: 'subtask' }), 400, wrongTypes)
})

test('a project that the caller cannot see is 404, and a caller without a token gets 401', async () => {
  const stranger = await register(client)
  for (const path of ['/search', '/tasks'])
    for (const id of [engine, unknownId, 'x'])
      expectError(await get(stranger, path, 'oil', { projectId: id }), 404, 'Project not found')
  for (const path of ['/search', '/tasks'])
    for (const nobody of [client.as(), client.as('no token')])
      expectError(await get(nobody, path, 'oil'), 401)
})

test('the header shows that everything is indexed, and one project has an ETag', async () => {
  for (const path of ['/search', '/tasks']) {
    const { headers } = await get(ada, path, 'oil', { projectId: engine })
    expect(headers.get('docket-indexed')).toBe('all')
    const condition = { 'if-none-match': headers.get('etag')! }
    const repeat = () => ada.get(`${path}?q=oil&projectId=${engine}`, condition)
    expect((await repeat()).status).toBe(304)
    await task(ada, engine, 'Oil the axle')
    expect(await repeat()).toMatchObject({
      status: 200,
      body: expect.arrayContaining([expect.objectContaining({ title: 'Oil the axle' })]),
    })
    expect((await get(ada, path, 'oil')).headers.get('etag')).toBeNull()
  }
})

test('a service account finds its project', async () => {
  const accounts = `/projects/${engine}/service-accounts`
  const { id } = await make(ada, accounts, { name: 'Importer', role: 'VIEWER' })
  const { token } = await makeToken(ada, { scopes: ['read'] }, `${accounts}/${id}/tokens`)
  expect(titlesOf(await search(ada.as(token), '"oil the wheels"'))).toEqual(['Oil the wheels'])
})

test('a search counts as one read, and as one more for every 100 projects', () =>
  withService({ READS_PER_MINUTE: '40' }, async ({ client }) => {
    const bob = await register(client)
    expect(remainingBudget(await get(bob, '/search', 'x'))).toBe(39)
    for (const _ of upTo(100)) await project(bob)
    expect(remainingBudget(await get(bob, '/search', 'x'))).toBe(37)
    expect(remainingBudget(await get(bob, '/tasks', 'x'))).toBe(35)
  }))
