import { expect, test } from 'bun:test'
import { readers } from '../../../modules/imports/sources.ts'
import { textOf } from './json-samples.ts'
import { reading } from './reading.ts'

const itemsOf = async (source: 'deck' | 'github', file: unknown) =>
  (await reading(readers[source]!, JSON.stringify(file), { partBytes: 1_021 })).items

test('reads exports of several boards and of one board of Deck, and lists of stacks', async () => {
  const file = JSON.parse(await textOf('deck.json')) as { boards: Record<string, { stacks: object }> }
  const expected = await itemsOf('deck', file)
  const boards = Object.values(file.boards)
  expect(await itemsOf('deck', file.boards)).toEqual(expected)
  expect(await itemsOf('deck', { boards })).toEqual(expected)
  const [board] = boards
  const one = await itemsOf('deck', { boards: [board] })
  expect(one).toHaveLength(10)
  expect(await itemsOf('deck', board)).toEqual(one)
  // A list of stacks has only the labels of its cards.
  const isTask = ({ kind }: { kind: string }) => kind === 'task'
  const ofStacks = await itemsOf('deck', Object.values(board!.stacks))
  expect(ofStacks.filter(isTask)).toEqual(one.filter(isTask))
})

test('reads lists of lists of GitHub issues, as `gh api --slurp` prints them', async () => {
  const [issue, other] = JSON.parse(await textOf('github-gh.json')) as object[]
  const expected = await itemsOf('github', [issue, other])
  expect(expected.filter(({ kind }) => kind === 'task')).toHaveLength(2)
  expect(await itemsOf('github', [[issue], [other]])).toEqual(expected)
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
      { lists: [], actions, cards },
      { cards, actions, lists: [] },
    ])
      expect((await reading(readers.trello!, JSON.stringify(file))).items as object[]).toEqual([task])
  },
)

test('reads the description of a Trello board', async () => {
  const itemsWith = async (desc: unknown) =>
    (await reading(readers.trello!, JSON.stringify({ prefs: { desc: 'x' }, desc, lists: [{ id: '1' }] })))
      .items
  expect(await itemsWith('In brass')).toEqual([{ kind: 'project', row: 0, description: 'In brass' }])
  for (const desc of ['', ' ', null, 5, ['x']]) expect(await itemsWith(desc)).toEqual([])
})

test('counts the comments that are missing in a file of Trello without actions, or with cards before them', async () => {
  const card = { id: 'c1', name: 'Draw', badges: { comments: 2 } }
  const text = { card: { id: 'c1' }, text: 'In brass' }
  const actions = [{ id: 'a1', type: 'commentCard', data: text }]
  const messagesOf = async (file: object) => {
    const { items } = await reading(readers.trello!, JSON.stringify({ lists: [], ...file }))
    return items.flatMap((item) => (item.kind === 'task' ? (item.messages ?? []) : []))
  }
  expect(await messagesOf({ cards: [card] })).toEqual(['2 of 2 comments are not in the file'])
  expect(await messagesOf({ cards: [card], actions })).toEqual(['1 of 2 comments are not in the file'])
  expect(await messagesOf({ actions: [...actions, ...actions], cards: [card] })).toEqual([])
})
