import { expect, test } from 'bun:test'
import { make } from '../support/client.ts'
import { expectRefusal } from './answers.ts'
import { rightLines, rightTexts, wrongNames, wrongTexts } from './texts.ts'
import { openScene } from '../support/scene.ts'

const { ada } = await openScene(['Ada'])
const { id: projectId } = await make(ada, '/projects', { name: 'P' })
const { id: taskId } = await make(ada, '/tasks', { title: 'T', projectId })
const { id: subtaskId } = await make(ada, `/tasks/${taskId}/subtasks`, { title: 'S' })
const { id: commentId } = await make(ada, `/tasks/${taskId}/comments`, { text: 'C' })

type Texts = { right: [sent: string, stored: string][]; wrong: unknown[] }
const names = (most: number): Texts => ({ right: rightTexts(most), wrong: wrongNames(most) })
const lines: Texts = { right: rightLines(20_000), wrong: wrongTexts(20_000) }
const isNotBlank = (text: unknown) => text !== null && !/^\s*$/.test(String(text))
const optional: Texts = { ...lines, wrong: lines.wrong.filter(isNotBlank) }

/** Each text of a resource: how it is created, with the other fields that takes, and how it is changed. */
const texts: [what: string, field: string, Texts, create: string, change: string, others?: object][] = [
  ['project', 'name', names(200), '/projects', `/projects/${projectId}`],
  ['project', 'description', optional, '/projects', `/projects/${projectId}`, { name: 'P' }],
  ['task', 'title', names(500), '/tasks', `/tasks/${taskId}`, { projectId }],
  ['task', 'description', optional, '/tasks', `/tasks/${taskId}`, { title: 'T', projectId }],
  ['subtask', 'title', names(500), `/tasks/${taskId}/subtasks`, `/tasks/subtasks/${subtaskId}`],
  ['comment', 'text', lines, `/tasks/${taskId}/comments`, `/tasks/comments/${commentId}`],
]

test.each(texts)('%s: %s is stored trimmed, and what it cannot be is refused', async (...one) => {
  const [, field, { right, wrong }, create, change, others] = one
  for (const [sent, stored] of right) {
    expect(await make(ada, create, { ...others, [field]: sent })).toMatchObject({ [field]: stored })
    expect((await ada.patch(change, { [field]: sent })).body).toMatchObject({ [field]: stored })
  }
  for (const text of wrong) {
    const named = new RegExp(`^${field} must be`)
    expectRefusal(await ada.post(create, { ...others, [field]: text }), 400, named)
    expectRefusal(await ada.patch(change, { [field]: text }), 400, named)
  }
  const required = one[2] === optional ? 201 : 400
  const without = await ada.post(create, others ?? {})
  expect(without.status).toBe(required)
  if (required === 400) expectRefusal(without, 400, new RegExp(`^${field} is required`))
})
