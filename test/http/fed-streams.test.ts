import { expect, test } from 'bun:test'
import { model } from '../../modules/modules.ts'
import { Random } from '../faults/random.ts'
import { beginLife, liveOn } from '../past/life.ts'
import { invite, make, type Person, register } from '../support/client.ts'
import { openTestService } from '../support/service.ts'
import { streamBodyIn } from './streaming.ts'
import { openScene } from '../support/scene.ts'

/** The types of the events that were told without being read. */
const fed = new Set<string>()
const { service } = await openScene()
const { recent } = service.services
const { after } = recent
recent.after = (range) => {
  const events = after.call(recent, range)
  for (const { type } of events ?? []) fed.add(type)
  return events
}

/** Listens in the very process that writes, and gives what was heard after a seq up to another, byte for byte. */
async function listen(who: Person, projectId: string) {
  const stream = await streamBodyIn(service, who, `/projects/${projectId}/events?after=0`)
  const reader = stream.pipeThrough(new TextDecoderStream()).getReader()
  let heard = ''
  return {
    async upTo(version: number): Promise<string[]> {
      while (!heard.includes(`\nid: ${version}\nevent: `)) {
        const { value, done } = await reader.read()
        if (done) throw new Error(`The stream ended: ${heard.slice(-500)}`)
        heard += value
      }
      return heard.split('\n\n').flatMap((message) => /\ndata: (.*)$/s.exec(message)?.[1] ?? [])
    },
    async rest(): Promise<string> {
      for (let said = await reader.read(); !said.done; said = await reader.read()) heard += said.value
      return heard
    },
    stop: () => reader.cancel(),
  }
}

const versionOf = async (who: Person, projectId: string) =>
  Number((await who.get(`/projects/${projectId}`)).headers.get('docket-version'))

test('what is told without being read is what would be read, byte for byte, whatever happens', async () => {
  const [ada, grace, bea] = [
    await register(service.client, 'Ada "the first"\\ — ä'),
    await register(service.client),
    await register(service.client),
  ]
  const life = await beginLife(new Random(11), [ada, grace, bea])
  const projects = life.projects.map(({ id }) => id)
  const streams = await Promise.all(projects.map((id) => listen(ada, id)))
  const said: string[][] = projects.map(() => [])
  const read: string[] = projects.map(() => '')
  for (let wave = 0; wave < 30; wave++) {
    await liveOn(life, 12)
    await ada.patch(`/tasks/subtasks/${life.subtasks.at(-1)?.id}`, { title: `"\\ — ü ${wave}` })
    for (const [n, id] of projects.entries()) {
      const version = await versionOf(ada, id)
      const before = said[n]!.length
      said[n] = await streams[n]!.upTo(version)
      const news = await ada.get(`/projects/${id}/events?after=${before}&limit=500`)
      read[n] += `${before > 0 && news.text !== '[]' ? ',' : ''}${news.text.slice(1, -1)}`
      expect(said[n]!.join()).toBe(read[n]!)
    }
    if (wave % 5 === 4) await grace.patch('/auth/me', { name: `Grace the ${wave}th, “ünnamed”` })
  }
  for (const { stop } of streams) await stop()
  const plain = model.eventTypes.filter((type) => /^(task|subtask|comment)\./.test(type))
  // A task that moves in is read, for all that comes with it; one loses its assignee by the work of others.
  const expected = plain.filter((type) => !['task.moved_in', 'task.unassigned'].includes(type))
  expect([...fed].sort()).toEqual(expected.sort())
})

test('who was removed is told nothing that came after, whichever process removed them', async () => {
  await using there = await openTestService(service.env)
  const ada = await register(service.client)
  const grace = await register(service.client)
  const { id: projectId } = await make(ada, '/projects', { name: 'Engine' })
  for (const remover of [ada, there.client.as(ada.token)]) {
    const member = await invite(ada, projectId, grace)
    const hers = await listen(grace, projectId)
    await make(ada, '/tasks', { title: 'Hers', projectId })
    await hers.upTo(await versionOf(ada, projectId))
    fed.clear()
    const last = await make(ada, '/tasks', { title: 'Hers too', projectId })
    await hers.upTo(await versionOf(ada, projectId))
    expect([...fed]).toEqual(['task.created'])
    expect((await remover.delete(`/projects/${projectId}/members/${member.id}`)).status).toBe(200)
    const secret = await make(ada, '/tasks', { title: 'Not hers', projectId })
    const heard = await hers.rest()
    expect(heard).toContain(last.id)
    expect(heard).not.toContain(secret.id)
    expect(heard).toContain('event: end\ndata: {"statusCode":404')
  }
})
