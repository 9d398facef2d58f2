import { readers, type Source } from '../../../modules/imports/sources.ts'
import { textOf } from './samples.ts'
import { reading, tasksOf } from './reading.ts'

const itemsOf = async (source: Source, file: unknown): Promise<object[]> =>
  (await reading(readers[source], JSON.stringify(file), { partBytes: 65_521 })).items
const tasksIn = async (source: Source, file: unknown) =>
  tasksOf(await reading(readers[source], JSON.stringify(file), { partBytes: 65_521 }))

test('reads exports of several boards and of one board of Deck, and lists of stacks', async () => {
  const file = JSON.parse(await textOf('deck.json')) as { boards: Record<string, { stacks: object }> }
  const expected = await itemsOf('deck', file)
  const boards = Object.values(file.boards)
  expect(await itemsOf('deck', file.boards)).toEqual(expected)
  expect(await itemsOf('deck', { boards })).toEqual(expected)
  const [board] = boards
  const one = { boards: [board] }
  expect(await itemsOf('deck', one)).toHaveLength(10)
  expect(await itemsOf('deck', board)).toEqual(await itemsOf('deck', one))
  // A list of stacks has only the labels of its cards.
  expect(await tasksIn('deck', Object.values(board!.stacks))).toEqual(await tasksIn('deck', one))
})

test('reads lists of lists of GitHub issues, as `gh api --slurp` prints them', async () => {
  const [issue, other] = JSON.parse(await textOf('github-gh.json')) as object[]
  const expected = await itemsOf('github', [issue, other])
  expect(expected).toHaveLength(5)
  expect(await itemsOf('github', [[issue], [other]])).toEqual(expected)
})

test('reads objects whose keys are ids in place of lists, and several boards one after the other', async () => {
  const card = { id: 'c1', name: 'Draw', idList: 'l' }
  const expected = [{ kind: 'task', row: 1, key: 'c1', title: 'Draw', list: 'To do' }]
  expect(await itemsOf('trello', { lists: { l: { id: 'l', name: 'To do' } }, cards: { c1: card } })).toEqual(
    expected,
  )
  const file = `${JSON.stringify({ lists: [{ id: 'l', name: 'To do' }] })}\n${JSON.stringify({ cards: [card] })}`
  expect((await reading(readers.trello, file)).items as object[]).toEqual(expected)
})

test.each(['createCard', 'copyCard', 'convertToCardFromCheckItem', 'emailCard'])(
  'reads the creator of a card from the action %s of Trello, before and after the cards',
  async (type) => {
    const cards = [{ id: 'c1', name: 'Draw' }]
    const memberCreator = { id: 'm1', fullName: 'Ada' }
    const actions = [
      { id: 'a3', type: 'updateCard', data: { card: { id: 'c1' } }, memberCreator: { fullName: 'Eve' } },
      { id: 'a2', type, data: { card: { id: 'c1' }, cardSource: { id: 'c0' } }, memberCreator },
    ]
    const task = { kind: 'task', row: 1, key: 'c1', title: 'Draw', author: { name: 'Ada' } }
    for (const file of [
      { actions, cards },
      { cards, actions },
    ])
      expect(await itemsOf('trello', file)).toEqual([task])
  },
)

test('reads the description of a Trello board', async () => {
  const itemsWith = (desc: unknown) =>
    itemsOf('trello', { prefs: { desc: 'x' }, desc, lists: [{ id: '1' }], cards: [] })
  expect(await itemsWith('In brass')).toEqual([{ kind: 'project', row: 0, description: 'In brass' }])
  for (const desc of ['', ' ', null, 5, ['x']]) expect(await itemsWith(desc)).toEqual([])
})

test('counts the comments that are missing in a file of Trello without actions, or with cards before them', async () => {
  const cards = [{ id: 'c1', name: 'Draw', badges: { comments: 2 } }]
  const text = { card: { id: 'c1' }, text: 'In brass' }
  const actions = [{ id: 'a1', type: 'commentCard', data: text }]
  const messagesOf = async (file: object) => (await tasksIn('trello', file)).flatMap((task) => task.messages)
  expect(await messagesOf({ cards })).toEqual(['2 of 2 comments are not in the file'])
  expect(await messagesOf({ cards, actions })).toEqual(['1 of 2 comments are not in the file'])
  expect(await messagesOf({ actions: [...actions, ...actions], cards })).toEqual([undefined])
})

const lists = [
  { _id: 'second', title: 'Second', sort: 2 },
  { _id: 'first', title: 'First', sort: 1 },
]
const titlesOf = async (cards: object[]) =>
  (await tasksIn('wekan', { lists, cards: cards.map((card, n) => ({ _id: `${n}`, ...card })) })).map(
    ({ title }) => title,
  )

test('sorts cards by the positions of their lists and cards, and keeps the order of equal cards', async () => {
  const cards = [
    { title: 'in the second list', listId: 'second', sort: 1 },
    { title: 'without a list', sort: 1 },
    { title: 'second', listId: 'first', sort: 5 },
    { title: 'as the second', listId: 'first', sort: 5 },
    { title: 'without a position', listId: 'first' },
    { title: 'first', listId: 'first', sort: 4 },
  ]
  const first = ['first', 'second', 'as the second', 'without a position']
  expect(await titlesOf(cards)).toEqual([...first, 'in the second list', 'without a list'])
})

test('sorts a large file in groups of 16 million characters', async () => {
  const description = 'x'.repeat(3_900_000)
  const cards = [5, 4, 3, 2, 1, 0].map((sort) => ({ title: `${sort}`, sort, description }))
  expect(await titlesOf(cards)).toEqual(['1', '2', '3', '4', '5', '0'])
})
