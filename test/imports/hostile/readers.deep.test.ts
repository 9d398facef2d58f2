import '../../../modules/modules.ts'
import { NamesInFile, People } from '../../../modules/imports/convert/names.ts'
import { Notes } from '../../../modules/imports/convert/notes.ts'
import { convertChild, convertTask, subtaskOf } from '../../../modules/imports/convert/record.ts'
import type { ConvertContext } from '../../../modules/imports/convert/record.ts'
import { storable } from '../../../modules/imports/convert/texts.ts'
import { ImportError, type ImportedItem } from '../../../modules/imports/items.ts'
import { readers, type Source, sources } from '../../../modules/imports/sources.ts'
import { reading } from '../readers/reading.ts'
import { filesWith } from './files.ts'

/** A file has about 500 KB, in 15 to 40 values. */
const characters = 20_000
const repeated = [' ', '@', '/', '<', '"', ':', ',', '\n', '1', 'a']

function convert(items: ImportedItem[], source: Source): void {
  const names = new NamesInFile()
  for (const item of items) names.add(storable(item).item)
  const people = new People([], {})
  names.allLabels(names.mapping({}, {}, people))
  const context: ConvertContext = {
    ...{ source, mapping: {}, people, userId: 'u', labels: new Map(), fields: names.fields },
    ...{ firstReminder: '2027-01-01T00:00:00.000Z', now: '2027-01-01T00:00:00.000Z' },
  }
  for (const item of items) {
    if (item.kind === 'task') {
      convertTask(item, context, new Notes())
      subtaskOf(item, context)
    }
    if (item.kind === 'subtask' || item.kind === 'comment') convertChild(item, context, new Notes())
  }
}

test.each(sources)('reads values of %s that consist of one repeated character', async (source) => {
  let tasks = 0
  for (const character of repeated) {
    for (const file of await filesWith(source, `x${character.repeat(characters)}x`)) {
      const items = await itemsOf(source, file)
      tasks += items.filter(({ kind }) => kind === 'task').length
      convert(items, source)
    }
  }
  expect(tasks).toBeGreaterThanOrEqual(repeated.length)
})

/** Returns no items if the reader rejects the file. */
async function itemsOf(source: Source, file: string): Promise<ImportedItem[]> {
  try {
    return (await reading(readers[source], file, { partBytes: 65_536 })).items
  } catch (error) {
    expect(error).toBeInstanceOf(ImportError)
    return []
  }
}
