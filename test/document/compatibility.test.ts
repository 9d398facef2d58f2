import type { OpenApi } from '../kit.ts'
import { breaksBetween, type Contract, contractsOf, openDocument } from './compatibility.ts'
import release from './release.json' with { type: 'json' }

const api = JSON.parse(await openDocument()) as OpenApi
const before = release as unknown as Record<string, Contract>

/** The stream repeated the answer of `GET /imports/{id}`, and was removed before version 0.1.0. */
const removed = ['GET /api/v1/imports/{id}/events is missing']

test('clients of the last release can use this release: no operation, field or value is missing', () => {
  expect(Object.keys(before).length).toBeGreaterThan(60)
  expect(breaksBetween(before, contractsOf(api))).toEqual(removed)
})

test.each<[description: string, expected: string, change: (task: Contract) => unknown]>([
  [
    'a missing or optional field of a response',
    'title is missing in the response, or optional',
    ({ responses }) => delete responses['201 application/json']!.title,
  ],
  [
    'a field of a response that may be null',
    'title of the response may be null',
    ({ responses }) => (responses['201 application/json']!.title = 'null string'),
  ],
  [
    'a missing value of a request',
    'no longer accepts string=LOW|MEDIUM|HIGH as application/json.priority?',
    ({ request }) => (request['application/json.priority?'] = 'string=LOW|HIGH'),
  ],
  ['a new required field', 'requires header x', ({ request }) => (request['header x'] = 'string')],
])('finds %s', (_, expected, change) => {
  const current = contractsOf(api)
  const changed = structuredClone(current)
  change(changed['POST /api/v1/tasks']!)
  expect(breaksBetween(current, changed)).toEqual([`POST /api/v1/tasks: ${expected}`])
})
