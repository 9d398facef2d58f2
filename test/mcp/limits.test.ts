import { make, register, withService } from '../kit.ts'
import { connect } from './mcp-client.ts'

test('the error of a limit contains the seconds to wait, and advises to use the same key', () =>
  withService({ WRITES_PER_MINUTE: '3' }, async (limited) => {
    const person = await register(limited.client)
    const { call } = await connect(limited, person.token)
    const { id } = await make(person, '/projects', { name: 'Engine' })
    const operations = [{ op: 'task.create', title: 'One' }]
    const send = (key: string) => call('apply', { project: id, key, operations })
    for (const key of ['a', 'b']) expect((await send(key)).isError).toBe(false)
    const answer = await send('c')
    expect(answer.body).toMatchObject({ status: 429, do: expect.stringContaining('same key in') })
    expect(answer.body.retryAfterSeconds).toBeGreaterThan(0)
  }))

test('undo reports a limit that is reached while undo reads the event', async () => {
  const statuses: unknown[] = []
  // The last read is the call itself, or the reading of the event.
  for (const reads of ['8', '9'])
    await withService({ READS_PER_MINUTE: reads }, async (limited) => {
      const person = await register(limited.client)
      const { call } = await connect(limited, person.token)
      const project = await make(person, '/projects', { name: 'Engine' })
      await make(person, '/tasks', { projectId: project.id, title: 'Draw' })
      const check = () => call('undo', { project: project.id, batch: 2, dryRun: true, key: 'a' })
      let answer = await check()
      while (!answer.isError) answer = await check().catch(() => ({ ...answer, isError: true, body: {} }))
      statuses.push(answer.body.status)
    })
  expect(statuses.sort()).toEqual([429, undefined])
})

test('claim_next returns the claimed task although the names of its answer cannot be read', async () => {
  const titles: unknown[] = []
  for (const reads of ['8', '9'])
    await withService({ READS_PER_MINUTE: reads }, async (limited) => {
      const person = await register(limited.client)
      const { call } = await connect(limited, person.token)
      const { id } = await make(person, '/projects', { name: 'Engine' })
      for (const title of ['A', 'B', 'C']) await make(person, '/tasks', { projectId: id, title })
      const claim = () => call<{ task?: { title: string } }>('claim_next', { project: id, leaseSeconds: 60 })
      for (
        let answer = await claim().catch(() => undefined);
        answer;
        answer = await claim().catch(() => undefined)
      )
        titles.push(answer.body.task?.title)
    })
  expect(titles.length).toBeGreaterThan(1)
  expect(titles).not.toContain(undefined)
})
