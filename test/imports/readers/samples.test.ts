import fc from 'fast-check'
import { ImportError } from '../../../modules/imports/items.ts'
import { readers } from '../../../modules/imports/sources.ts'
import { cases } from '../../kit.ts'
import { jsonSamples as samples, textOf } from './samples.ts'
import { reading } from './reading.ts'

test.each(samples)('reads $file in UTF-16 and with a byte order mark', async ({ source, file }) => {
  const text = await textOf(file)
  const { items } = await reading(readers[source], text)
  const units = Buffer.from(`\ufeff${text}`, 'utf16le')
  for (const bytes of [units, Buffer.from(units).swap16(), Buffer.from(`\ufeff${text}`)])
    expect((await reading(readers[source], bytes, { partBytes: 1021 })).items).toEqual(items)
})

test.each(samples)('rejects $file with an ImportError if it is cut at any byte', async (sample) => {
  const text = (await textOf(sample.file)).trimEnd()
  const reader = readers[sample.source]
  const whole = (await reading(reader, text, { partBytes: 4096 })).items.length
  const property = fc.asyncProperty(fc.nat(text.length - 1), async (end) => {
    const cut = reading(reader, text.slice(0, end), { partBytes: 4096 })
    const outcome = await cut.then(({ items }) => items.length).catch((error: unknown) => error)
    // A cut between two documents leaves a shorter file.
    if (sample.documents && typeof outcome === 'number') expect(outcome).toBeLessThanOrEqual(whole)
    else expect(outcome).toBeInstanceOf(ImportError)
  })
  await fc.assert(property, { numRuns: cases(40) })
})

test.each(samples)('reads $file with a wrong byte, or rejects it with an ImportError', async (sample) => {
  const bytes = Buffer.from(await textOf(sample.file))
  const reader = readers[sample.source]
  const property = fc.asyncProperty(fc.nat(bytes.length - 1), fc.nat(255), async (at, byte) => {
    const changed = Buffer.from(bytes)
    changed[at] = byte
    const error = await reading(reader, changed, { partBytes: 4096 }).catch((thrown: unknown) => thrown)
    if (error instanceof Error) expect(error).toBeInstanceOf(ImportError)
  })
  await fc.assert(property, { numRuns: cases(60) })
})
