import { at, expectError, holdTransaction, invite, make, openPair, register, untilBlocked } from '../kit.ts'
import { withToken } from '../kit.ts'
import type { Body, Person } from '../kit.ts'
import { listTasks, search } from './scene.ts'

const pair = await openPair()
const [ada, bea] = [await register(pair.atA, 'Ada'), await register(pair.atA, 'Bea')]

interface Secret {
  project: Body
  /** Queries that find the rows: words, beginnings, misspelt words, ids and an external id. */
  queries: string[]
}

/** Creates a project whose words no other project contains. */
async function openSecret(owner: Person, name: string): Promise<Secret> {
  const word = (kind: string) => `${name}${kind}osaurus`
  const project = await make(owner, '/projects', { name: word('project'), description: word('about') })
  const externalId = `${name.toUpperCase()}-1`
  const fields = { title: `Feed the ${word('task')}`, description: word('text'), externalId }
  const task = await make(owner, '/tasks', { projectId: project.id, ...fields })
  const comment = await make(owner, `/tasks/${task.id}/comments`, { text: word('comment') })
  await make(owner, `/tasks/${task.id}/subtasks`, { title: word('subtask') })
  const others = [name, `"${word('task')}"`, word('task').replace('osaur', 'osuar'), externalId]
  const kinds = ['project', 'about', 'task', 'text', 'comment', 'subtask']
  return { project, queries: [...kinds.map(word), ...others, project.id, task.id, comment.id] }
}

/** Expects that each query finds something of the secret at each process, or that no query finds anything. */
async function expectFound(person: Person, { project, queries }: Secret, isFound: boolean): Promise<void> {
  for (const client of [at(person, pair.a), at(person, pair.b)])
    for (const q of queries) {
      const hits = [...(await search(client, q)), ...(await listTasks(client, q))]
      const isOwn = hits.some((hit) => hit.projectId === project.id || hit.id === project.id)
      expect([q, isOwn]).toEqual([q, isFound])
    }
}

test('members alone find the words, ids and similar titles of a project, until their removal or its deletion', async () => {
  const secret = await openSecret(ada, 'allo')
  await expectFound(ada, secret, true)
  await expectFound(bea, secret, false)
  const member = await invite(ada, secret.project.id, bea)
  await expectFound(bea, secret, true)
  await ada.delete(`/projects/${secret.project.id}/members/${member.id}`)
  await expectFound(bea, secret, false)
  await ada.delete(`/projects/${secret.project.id}`)
  await expectFound(ada, secret, false)
})

test('a token for projects finds nothing in other projects', async () => {
  const [own, other] = [await openSecret(ada, 'cerato'), await openSecret(ada, 'diplo')]
  const bound = await withToken(ada, { scopes: ['read'], projects: [own.project.id] })
  await expectFound(bound, own, true)
  await expectFound(bound, other, false)
  expectError(await bound.get(`/search?q=diplo&projectId=${other.project.id}`), 404, 'Project not found')
})

test('a search of one project does not find a task that has moved to another project of the caller', async () => {
  const { project, queries } = await openSecret(ada, 'euoplo')
  await expectFound(ada, { project, queries }, true)
  const [task] = (await ada.get(`/tasks?projectId=${project.id}`)).body
  await ada.patch(`/tasks/${task!.id}`, { projectId: (await make(ada, '/projects', { name: 'Open' })).id })
  const hits = (await ada.get(`/search?q=euoplotaskosaurus&projectId=${project.id}`)).text
  expect(hits).toBe('[]')
})

const changes: Record<string, (projectId: string, taskId: string, memberId: string) => Promise<unknown>> = {
  'the removal of the member': (projectId, _, memberId) =>
    ada.delete(`/projects/${projectId}/members/${memberId}`),
  'the deletion of the task': (_, taskId) => ada.delete(`/tasks/${taskId}`),
  'the deletion of the project': (projectId) => ada.delete(`/projects/${projectId}`),
  'a move to a project of others': async (_, taskId) => {
    const { id } = await make(ada, '/projects', { name: 'Other' })
    // A move by a request would wait for the lock on the comments too.
    await pair.sql`update tasks set project_id = ${id} where id = ${taskId}`
  },
}

test.each(Object.keys(changes))('a hit is not shown after %s, while the search runs', async (name) => {
  const { id } = await make(ada, '/projects', { name: 'Engine' })
  const task = await make(ada, '/tasks', { projectId: id, title: 'Feed the iguanodon' })
  const member = await invite(ada, id, bea)
  const found = async () => (await search(bea, 'iguanodon')).map((hit) => hit.id)
  expect(await found()).toEqual([task.id])
  // The search has found the task, and reads the rows of its hits when the lock ends.
  const release = await holdTransaction(pair.sql, (tx) => tx`lock table comments in access exclusive mode`)
  const waiting = found()
  await untilBlocked(pair.sql, 1, '%from comments c join tasks%')
  await changes[name]!(id, task.id, member.id)
  await release()
  expect(await waiting).toEqual([])
})
