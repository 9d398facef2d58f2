import { NamesInFile } from '../../../modules/imports/convert/names.ts'
import { shortenKeys } from '../../../modules/imports/convert/keys.ts'
import { isSpec } from '../../../modules/imports/items.ts'
import { readers, type Source } from '../../../modules/imports/sources.ts'
import { Staging } from '../../../workers/imports/staged.ts'
import { upTo } from '../../kit.ts'
import { reading } from '../readers/reading.ts'

const rows = upTo(100)
const long = (text: string) => text.padEnd(2_000, '.')

const csv = (header: string, cells: (n: number) => string[]) =>
  [header, ...rows.map((n) => cells(n).map(long).join())].join('\n')
const json = (value: unknown) => JSON.stringify(value)

/** In each file, all ids and names are long, and refer to other rows. */
const files: [Source, string][] = [
  [
    'csv',
    csv('id,title,list,parent,blocked by,labels,external id', (n) => [
      ...[`${n}`, `Task ${n}`, `List ${n}`, `${n - 1}`, `${n - 1}`, `Label ${n}`, `X${n}`],
    ]),
  ],
  [
    'jira',
    csv(
      'Summary,Issue key,Issue id,Status,Outward issue link (Blocks),Inward issue link (Blocks),Parent,Parent key',
      (n) => [`Task ${n}`, `K-${n}`, `${n}`, 'Done', `K-${n - 1}`, `K-${n + 1}`, `${n - 1}`, ''],
    ),
  ],
  ['ticktick', csv('Title,taskId,parentId,Status', (n) => [`Task ${n}`, `id${n}`, `id${n - 1}`, '0'])],
  [
    'asana',
    csv('Task ID,Name,Section/Column,Parent task,Blocked By (Dependencies)', (n) => [
      ...[`${n}`, `Task ${n}`, `List ${n}`, `Task ${n - 1}`, `Task ${n - 2}`],
    ]),
  ],
  [
    'asana',
    json(
      rows.map((n) => ({
        ...{ gid: long(`${n}`), name: 'a', parent: { gid: long(`${n - 1}`) } },
        custom_fields: [{ name: long(`Field ${n}`), type: 'text', text_value: 'x' }],
      })),
    ),
  ],
  [
    'trello',
    json({
      lists: [],
      cards: rows.map((n) => ({ id: long(`${n}`), name: 'a', idChecklists: ['1', '2'] })),
      actions: rows.map((n) => ({ id: `${n}`, type: 'commentCard', data: { card: { id: long(`${n}`) } } })),
      checklists: rows.map((n) => ({ id: `${n}`, idCard: long(`${n}`), name: 'c', checkItems: [] })),
    }),
  ],
  [
    'wekan',
    json({
      lists: [],
      cards: rows.map((n) => ({ _id: long(`${n}`), title: 'a', parentId: long(`${n - 1}`) })),
    }),
  ],
  [
    'github',
    json(
      rows.map((n) => ({
        ...{ number: n, title: 'a', html_url: `https://a/b/${long(`c${n}`)}/issues/1` },
        labels: [{ name: long(`${n}`), color: 'ff0000' }],
      })),
    ),
  ],
]

/** Returns the long texts that the largest map or set has received. */
async function mostLongTexts(run: () => Promise<unknown>): Promise<number> {
  const counts = new WeakMap<object, number>()
  let most = 0
  const { set } = Map.prototype
  const { add } = Set.prototype
  const count = (target: object, ...texts: unknown[]) => {
    const found = texts.filter((text) => typeof text === 'string' && text.length > 1_000).length
    if (found === 0) return
    const sum = (counts.get(target) ?? 0) + found
    counts.set(target, sum)
    most = Math.max(most, sum)
  }
  Map.prototype.set = function (key, value) {
    count(this, key, value)
    return set.call(this, key, value)
  }
  Set.prototype.add = function (value) {
    count(this, value)
    return add.call(this, value)
  }
  try {
    await run()
  } finally {
    Object.assign(Map.prototype, { set })
    Object.assign(Set.prototype, { add })
  }
  return most
}

test.each(files)('keeps no long text of a row of %s in memory', async (source, file) => {
  let tasks = 0
  const most = await mostLongTexts(async () => {
    const [names, staging] = [new NamesInFile(), new Staging()]
    for (const item of (await reading(readers[source], file, { partBytes: 65_536 })).items) {
      names.add(item)
      if (isSpec(item)) continue
      shortenKeys(item, source)
      staging.add(item, JSON.stringify(item))
      if (item.kind === 'task') tasks++
    }
  })
  expect(tasks).toBe(rows.length)
  // A row may have some long texts, until the next row.
  expect(most).toBeLessThan(20)
})
