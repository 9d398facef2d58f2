import { make, openScene } from '../kit.ts'

const { ada } = await openScene(['Ada'])
const separator = '\x1f'

/** Pages of more than 63 tasks are always read by columns. */
async function expectSameBytes(projectId: string) {
  for (const sort of ['createdAt', '-createdAt', 'dueDate', '-dueDate', 'createdAt&status=TODO']) {
    const list = (limit: number) => ada.get(`/tasks?projectId=${projectId}&sort=${sort}&limit=${limit}`)
    expect((await list(63)).text).toBe((await list(64)).text)
  }
}

test('a page that is read as one text has the same bytes as a page that is read by columns', async () => {
  const { id: projectId } = await make(ada, '/projects', { name: 'Texts' })
  await expectSameBytes(projectId)
  const controls = Array.from({ length: 30 }, (_, n) => String.fromCharCode(n + 1)).join('')
  const texts = ['a', '=', '"\\"', '\u2028 ÿ', '工程 🚀', "'$1,(){}"]
  for (const [n, title] of texts.entries()) {
    await make(ada, '/tasks', { projectId, title })
    const description = `${title}${controls}\x7f`
    await make(ada, '/tasks', { projectId, title, description, externalId: `${n}${title}` })
  }
  for (const time of [
    '2027-01-31T17:00:00.5Z',
    '2027-01-31',
    '0050-01-01T00:00:00.12+05:30',
    '9999-12-31T00:00:00.001Z',
  ])
    await make(ada, '/tasks', {
      projectId,
      title: 'Time',
      dueDate: time,
      remindAt: '2090-01-01',
      assigneeId: null,
      place: 'first',
    })
  await expectSameBytes(projectId)
})

test.each([
  ['a separator in a text', { title: 'a', description: `a${separator}b` }],
  ['separators for the values of a whole task', { title: 'a', description: `b${separator.repeat(13)}` }],
  ['a label', { title: 'a', labelIds: [] }],
])('a page with %s has the same bytes', async (name, input) => {
  const { id: projectId } = await make(ada, '/projects', { name })
  const label = await make(ada, `/projects/${projectId}/labels`, { name: 'New', color: '#336699' })
  await make(ada, '/tasks', { projectId, title: 'Plain' })
  const { id } = await make(ada, '/tasks', {
    projectId,
    ...input,
    ...('labelIds' in input && { labelIds: [label.id] }),
  })
  await expectSameBytes(projectId)
  const { body } = await ada.get(`/tasks?projectId=${projectId}`)
  expect(body[1]).toEqual((await ada.get(`/tasks/${id}`)).body)
})
