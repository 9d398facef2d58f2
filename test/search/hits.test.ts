import { expect, test } from 'bun:test'
import { register } from '../support/client.ts'
import { openScene } from '../support/scene.ts'
import { comment, exactIds, get, matchedIn, project, search, task, titlesOf } from './scene.ts'

const { client, ada } = await openScene(['Ada'])
const engine = await project(ada, 'Engine', 'The analytical machine')
const oil = await task(ada, engine, 'Oil the wheels', { description: 'Use the thin oil, not the grease.' })
const draw = await task(ada, engine, 'Draw the plate', { description: 'As drawn by Zoë in Łódź.' })
const remark = await comment(ada, draw, 'The plate needs oil before it is cut')

test('a hit shows the task, the comment or the project', async () => {
  const [hit] = await search(ada, 'grease')
  expect(hit).toEqual({
    ...{ type: 'task', id: oil, projectId: engine, taskId: oil, title: 'Oil the wheels' },
    snippet: { text: 'Use the thin oil, not the grease.', matches: [[26, 32]] },
  })
  const [ofComment] = await search(ada, 'before cut')
  expect(ofComment).toMatchObject({ type: 'comment', id: remark, taskId: draw, title: 'Draw the plate' })
  expect(ofComment && matchedIn(ofComment)).toEqual(['before', 'cut'])
  const [ofProject] = await search(ada, 'analytical')
  expect(ofProject).toMatchObject({
    type: 'project',
    id: engine,
    projectId: engine,
    taskId: null,
    title: 'Engine',
  })
})

test('a phrase matches adjacent words, and a minus excludes', async () => {
  expect(titlesOf(await search(ada, '"thin oil"'))).toEqual(['Oil the wheels'])
  expect(await exactIds(ada, '"oil thin"')).toEqual([])
  expect(titlesOf(await search(ada, 'oil -plate'))).toEqual(['Oil the wheels'])
  expect(await exactIds(ada, 'oil -"the wheels"')).toEqual([remark])
})

test('titles come before comments, and comments before descriptions; newer hits come first', async () => {
  const board = await project(ada, 'Board')
  const inDescription = await task(ada, board, 'A', { description: 'brass' })
  const inComment = await comment(ada, inDescription, 'brass')
  const inTitle = await task(ada, board, 'Brass')
  const newer = await task(ada, board, 'More brass', { description: 'gears' })
  expect(await exactIds(ada, 'brass', `projectId=${board}`)).toEqual([
    ...[newer, inTitle, inComment, inDescription],
  ])
  const withGears = await task(ada, board, 'Brass gears')
  expect(await exactIds(ada, 'brass gears')).toEqual([withGears, newer])
})

test('types selects the types of hits', async () => {
  const typesOf = async (types: string) =>
    (await search(ada, 'oil', `types=${types}`)).map(({ type }) => type)
  expect(await typesOf('comment')).toEqual(['comment'])
  expect(await typesOf('task,comment')).toEqual(['task', 'comment'])
  expect(await typesOf('project')).toEqual([])
  expect((await get(ada, '/search', 'oil', 'types=subtask')).body.message).toBe(
    'types must be a list of task, comment, project, separated by commas',
  )
})

test('the number, the id and the external id of a task find it', async () => {
  const id = await task(ada, engine, 'Cast', { externalId: 'JIRA-42/x' })
  const { number } = (await ada.get(`/tasks/${id}`)).body
  expect(await exactIds(ada, `#${number}`, `projectId=${engine}`)).toEqual([id])
  for (const q of [id, id.toUpperCase(), ' JIRA-42/x '])
    expect((await search(ada, q))[0]).toMatchObject({ id })
  expect((await search(ada, remark))[0]).toMatchObject({ type: 'comment', id: remark })
  expect((await search(ada, engine))[0]).toMatchObject({ type: 'project', id: engine })
  expect(await exactIds(ada, engine, 'types=task')).toEqual([])
  const stranger = await register(client)
  for (const q of [id, remark, engine, 'JIRA-42/x']) expect(await exactIds(stranger, q)).toEqual([])
})

test('an external id without a word finds its task, and an excluded word alone finds nothing', async () => {
  for (const externalId of ['-12', '***', '-wheels']) {
    const id = await task(ada, engine, 'Cast', { externalId })
    expect(await search(ada, externalId)).toMatchObject([{ id, snippet: { text: 'Cast', matches: [] } }])
    expect((await get(ada, '/tasks', externalId)).body).toMatchObject([{ id }])
    expect(await search(ada, `${externalId} -x`)).toEqual([])
    expect(titlesOf((await get(ada, '/tasks', `${externalId} -x`)).body)).toEqual([])
  }
})

test('without a hit, similar titles are offered', async () => {
  const [hit, ...others] = await search(ada, 'enigne wheals')
  expect(hit).toMatchObject({ id: oil, fuzzy: true })
  expect(hit && matchedIn(hit)).toEqual(['wheels'])
  expect(others.every(({ fuzzy }) => fuzzy)).toBe(true)
  expect((await search(ada, 'wheels'))[0]?.fuzzy).toBeUndefined()
  expect(await search(ada, 'wheals', 'types=comment')).toEqual([])
  expect(await search(ada, 'wheals -oil')).toEqual([])
})

test('more similar words of other projects hide no similar title', async () => {
  const stranger = await register(client)
  await task(stranger, await project(stranger), 'wheals wheala whealb whealc wheald')
  expect(titlesOf(await search(stranger, 'wheals'))).toHaveLength(1)
  expect((await search(ada, 'wheals')).map(matchedIn)).toEqual([['wheels']])
})
