import { expect, test } from 'bun:test'
import { make, register } from '../support/client.ts'
import { forFile, openTestService } from '../support/service.ts'
import { words } from '../support/words.ts'
import { expectRefusal } from './answers.ts'

const service = await forFile(openTestService())
const ada = await register(service.client)
const projectId = (await make(ada, '/projects', { name: 'Calendar' })).id

// More of them, read by the same function, are in test/core/instants.test.ts.
const forms: Record<string, string> = {
  '2027-01-31T17:00Z': '2027-01-31T17:00:00.000Z',
  '2027-01-31T17:00:00.123456789Z': '2027-01-31T17:00:00.123Z',
  '2027-01-01T00:30:00+01:00': '2026-12-31T23:30:00.000Z',
  '2028-02-29': '2028-02-29T00:00:00.000Z',
  '0001-01-01': '0001-01-01T00:00:00.000Z',
  '9999-12-31T23:59:59.999Z': '9999-12-31T23:59:59.999Z',
}

test.each(Object.entries(forms))('due %s is answered as %s', async (dueDate, stored) => {
  const task = await make(ada, '/tasks', { title: 'T', projectId, dueDate })
  expect(task.dueDate).toBe(stored)
  expect((await ada.get(`/tasks/${task.id}`)).body.dueDate).toBe(stored)
  const { body } = await ada.patch(`/tasks/${task.id}`, { dueDate: '2000-01-01' })
  expect(body.dueDate).toBe('2000-01-01T00:00:00.000Z')
  expect((await ada.patch(`/tasks/${task.id}`, { dueDate })).body.dueDate).toBe(stored)
})

const noDates = words(
  '2027-02-29 2027-01-31T17:00:00 0000-01-01 9999-12-31T23:59:59-01:00 tomorrow infinity 0',
)
noDates.push('', ' 2027-01-31', '2027-01-31\n', '2027-01-31\0')
const wrong: unknown[] = [...noDates, 1767225600000, 0, true, {}, ['2027-01-31']]

test('what is no date, or no date-time with an offset, is refused', async () => {
  const { id } = await make(ada, '/tasks', { title: 'T', projectId })
  for (const dueDate of wrong) {
    const answer = await ada.post('/tasks', { title: 'T', projectId, dueDate })
    expect([dueDate, answer.status]).toEqual([dueDate, 400])
    expectRefusal(answer, 400, /^dueDate must be an ISO 8601 date-time with offset/)
    expectRefusal(await ada.patch(`/tasks/${id}`, { dueDate }), 400, /^dueDate must be/)
  }
  expect((await ada.get(`/tasks/${id}`)).body.dueDate).toBeNull()
})

test('filters take the same forms and refuse the same', async () => {
  const list = (name: string, value: string) =>
    ada.get(`/tasks?projectId=${projectId}&${name}=${encodeURIComponent(value)}`)
  for (const name of ['dueBefore', 'dueAfter']) {
    for (const form of Object.keys(forms)) expect((await list(name, form)).status).toBe(200)
    for (const form of noDates) expectRefusal(await list(name, form), 400, new RegExp(`^${name} must be`))
  }
})
