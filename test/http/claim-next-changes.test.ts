import { expect, test } from 'bun:test'
import { upTo } from '../races/pair.ts'
import { make } from '../support/client.ts'
import { openScene } from '../support/scene.ts'

const { ada } = await openScene(['Ada'])

test.each([20, 150])(
  'claims the first ready task after the same batch has finished %p tasks',
  async (finished) => {
    const { id: projectId } = await make(ada, '/projects', { name: 'Queue' })
    const batch = (operations: object[]) => ada.post(`/projects/${projectId}/batch`, { operations })
    const create = (title: string) => ({ op: 'task.create', title })
    const created = await batch([
      ...upTo(finished).map((n) => create(`T${n}`)),
      create('First'),
      create('Second'),
    ])
    const ids = (created.body as unknown as { results: { id: string }[] }).results.map(({ id }) => id)
    const finish = ids.slice(0, finished).map((id) => ({ op: 'task.update', id, status: 'DONE' }))
    const low = { op: 'task.create', title: 'Low', priority: 'LOW' }
    const claimed = await batch([...finish, low, { op: 'task.claim_next', leaseSeconds: 60 }])
    expect([
      claimed.status,
      (claimed.body as unknown as { results: { id: string }[] }).results.at(-1)?.id,
    ]).toEqual([200, ids[finished]])
  },
)
