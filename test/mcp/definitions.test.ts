import { expect, test } from 'bun:test'
import { withToken } from '../support/client.ts'
import { openScene } from '../support/scene.ts'
import { words } from '../support/words.ts'
import { connect } from './mcp-client.ts'
import { maxDefinitionTokens, tokensIn } from './token-count.ts'

const { service, ada } = await openScene(['Ada'])
const { client } = await connect(service, ada.token)
const all = await client.listTools()
const names = (tools: { name: string }[]) => tools.map(({ name }) => name)

test('the tools are on one page, in a fixed order', () => {
  expect(names(all.tools)).toEqual(
    words('projects find get apply undo changes claim_next extend_or_release history'),
  )
  expect(all.nextCursor).toBeUndefined()
})

test(`the definitions have at most ${maxDefinitionTokens} tokens and no output schema`, () => {
  expect(tokensIn(JSON.stringify(all.tools))).toBeLessThanOrEqual(maxDefinitionTokens)
  for (const tool of all.tools) expect(Object.keys(tool)).not.toContain('outputSchema')
})

test('readOnlyHint is set for the tools that write nothing, and only for these tools', () => {
  const reads = all.tools.filter(({ annotations }) => annotations?.readOnlyHint)
  expect(names(reads)).toEqual(words('projects find get changes history'))
})

test('a token with the scope read lists only tools that read, and cannot call other tools', async () => {
  const reader = await withToken(ada, { scopes: ['read'] })
  const { client, call } = await connect(service, reader.token)
  const { tools } = await client.listTools()
  expect(names(tools)).toEqual(words('projects find get changes history'))
  expect(call('apply', { key: 'k' })).rejects.toThrow(
    'The tool apply needs an API token with the scope write',
  )
  expect((await call('projects')).isError).toBe(false)
})

test('an unknown tool gets the names of the tools', async () => {
  const { call } = await connect(service, ada.token)
  expect(call('search')).rejects.toThrow('search is not known here; the tools are projects, find')
})

test('an unknown argument gets the nearest name, and the names of all arguments', async () => {
  const { call } = await connect(service, ada.token)
  const { isError, body } = await call('find', { projct: 'Engine', limit: 0 })
  expect(isError).toBe(true)
  expect(body).toMatchObject({
    error: 'projct is not known here; did you mean project?; limit must be a number from 1 to 100',
    status: 400,
    do: expect.stringContaining('its arguments are project, text, status'),
  })
})
