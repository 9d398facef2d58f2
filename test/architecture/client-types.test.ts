import { declarationsOf, typesOf } from '../../clients/typescript/scripts/types-of.ts'
import { read } from './source.ts'
import { openDocument } from '../document/compatibility.ts'

test('the types of the client match the OpenAPI document; `npm run types --prefix clients/typescript` generates them', async () => {
  const document = await openDocument()
  expect(await typesOf(document)).toBe(read('clients/typescript/src/api.ts').text)
  expect(declarationsOf(document)).toBe(read('clients/typescript/src/declarations.ts').text)
})
