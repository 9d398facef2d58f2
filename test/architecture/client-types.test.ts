import { expect, test } from 'bun:test'
import { typesOf } from '../../clients/typescript/scripts/types-of.ts'
import { read } from './source.ts'
import { openDocument } from '../document/open-document.ts'

test('the types of the client match the OpenAPI document; `npm run types --prefix clients/typescript` generates them', async () => {
  expect(await typesOf(await openDocument())).toBe(read('clients/typescript/src/api.ts').text)
})
