import { type Client, expectError, holdTransaction, invite, make, makeProjects, makeToken } from '../kit.ts'
import { openPair, type Person, register, untilBlocked, withToken } from '../kit.ts'
import { listTasks, search, searchIds, task } from './scene.ts'

const pair = await openPair()
const [ada, bea] = [await register(pair.atA, 'Ada'), await register(pair.atA, 'Bea')]

/** A project with words that no other project has, and queries that find its rows. */
interface Secret {
  projectId: string
  taskId: string
  queries: string[]
}

async function openSecret(owner: Person, name: string): Promise<Secret> {
  const word = (kind: string) => `${name}${kind}osaurus`
  const project = { name: word('project'), description: word('about') }
  const { id: projectId } = await make(owner, '/projects', project)
  const externalId = `${name.toUpperCase()}-1`
  const fields = { description: word('text'), externalId }
  const taskId = await task(owner, projectId, `Feed the ${word('task')}`, fields)
  const { id: commentId } = await make(owner, `/tasks/${taskId}/comments`, { text: word('comment') })
  await make(owner, `/tasks/${taskId}/subtasks`, { title: word('subtask') })
  const others = [name, `"${word('task')}"`, word('task').replace('osaur', 'osuar'), externalId]
  const kinds = ['project', 'about', 'task', 'text', 'comment', 'subtask']
  return { projectId, taskId, queries: [...kinds.map(word), ...others, projectId, taskId, commentId] }
}

/** Expects that each query finds something of the secret at each process, or that no query finds anything. */
async function expectFound(person: Client, { projectId, queries }: Secret, isFound: boolean): Promise<void> {
  for (const client of [person.at(pair.a.url), person.at(pair.b.url)])
    for (const q of queries) {
      const hits = [...(await search(client, q)), ...(await listTasks(client, q))]
      const isOwn = hits.some((hit) => hit.projectId === projectId || hit.id === projectId)
      expect([q, isOwn]).toEqual([q, isFound])
    }
}

test('members alone find the words, ids and similar titles of a project, until their removal or its deletion', async () => {
  const secret = await openSecret(ada, 'allo')
  await expectFound(ada, secret, true)
  await expectFound(bea, secret, false)
  const member = await invite(ada, secret.projectId, bea)
  await expectFound(bea, secret, true)
  await ada.delete(`/projects/${secret.projectId}/members/${member.id}`)
  await expectFound(bea, secret, false)
  await ada.delete(`/projects/${secret.projectId}`)
  await expectFound(ada, secret, false)
})

test('a token for projects and a service account find nothing in other projects', async () => {
  const [own, other] = [await openSecret(ada, 'cerato'), await openSecret(ada, 'diplo')]
  const bound = await withToken(ada, { scopes: ['read'], projects: [own.projectId] })
  const accounts = `/projects/${own.projectId}/service-accounts`
  const { id } = await make(ada, accounts, { name: 'Importer', role: 'VIEWER' })
  const { token } = await makeToken(ada, { scopes: ['read'] }, `${accounts}/${id}/tokens`)
  for (const client of [bound, ada.as(token)]) {
    await expectFound(client, own, true)
    await expectFound(client, other, false)
    for (const path of ['search', 'tasks'])
      expectError(await client.get(`/${path}?q=diplo&projectId=${other.projectId}`), 404, 'Project not found')
  }
})

test('a search of one project does not find a task that has moved to another project of the caller', async () => {
  const { projectId, taskId } = await openSecret(ada, 'euoplo')
  const found = () => searchIds(ada, 'euoplotaskosaurus', { projectId })
  expect(await found()).toEqual([taskId])
  await ada.patch(`/tasks/${taskId}`, { projectId: (await makeProjects(ada, 1))[0] })
  expect(await found()).toEqual([])
})

const changes: Record<string, (projectId: string, taskId: string, memberId: string) => Promise<unknown>> = {
  'the removal of the member': (projectId, _, memberId) =>
    ada.delete(`/projects/${projectId}/members/${memberId}`),
  'the deletion of the task': (_, taskId) => ada.delete(`/tasks/${taskId}`),
  'the deletion of the project': (projectId) => ada.delete(`/projects/${projectId}`),
  'a move to a project of others': async (_, taskId) => {
    const [id = ''] = await makeProjects(ada, 1)
    // A move by a request would wait for the lock on the comments too.
    await pair.sql`update tasks set project_id = ${id} where id = ${taskId}`
  },
}

test.each(Object.keys(changes))('a hit is not shown after %s, while the search runs', async (name) => {
  const [id = ''] = await makeProjects(ada, 1)
  const taskId = await task(ada, id, 'Feed the iguanodon')
  const member = await invite(ada, id, bea)
  expect(await searchIds(bea, 'iguanodon')).toEqual([taskId])
  // The search has found the task, and reads the rows of its hits when the lock ends.
  const release = await holdTransaction(pair.sql, (tx) => tx`lock table comments in access exclusive mode`)
  const waiting = search(bea, 'iguanodon')
  await untilBlocked(pair.sql, 1, '%from comments c join tasks%')
  await changes[name]!(id, taskId, member.id)
  await release()
  expect(await waiting).toEqual([])
})
