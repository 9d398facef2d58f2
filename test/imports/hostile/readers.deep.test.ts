import { expect, test } from 'bun:test'
import { sources } from '../../../modules/imports/sources.ts'
import { openImporting } from '../http/importing.ts'
import { filesWith } from './files.ts'

const { importFile } = await openImporting()

/** A file has about 500 KB, in 15 to 40 values. */
const characters = 20_000
const repeated = [' ', '@', '/', '<', '"', ':', ',', '\n', '1', 'a']

test.each(sources)('imports values of %s that consist of one repeated character', async (source) => {
  let tasks = 0
  for (const character of repeated) {
    for (const file of await filesWith(source, `x${character.repeat(characters)}x`)) {
      const { error, counts } = await importFile(source, file)
      // A reader may reject the file, and names the reason.
      expect(error ?? '').not.toMatch(/^The file cannot be read: |^The worker failed/)
      tasks += counts.read!
    }
  }
  expect(tasks).toBeGreaterThanOrEqual(repeated.length)
})
