import { expect, test } from 'bun:test'
import { typesOf } from '../../clients/typescript/scripts/types-of.ts'
import { read } from '../architecture/source.ts'
import { openDocument } from '../document/open-document.ts'

test('the generated types match the OpenAPI document; `npm run types` in clients/typescript generates them', async () => {
  expect(await typesOf(await openDocument())).toBe(read('clients/typescript/src/api.ts').text)
})
