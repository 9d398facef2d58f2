import { expect, test } from 'bun:test'
import { at, openPair } from '../races/pair.ts'
import { expectError, unknownId } from '../http/responses.ts'
import { type Body, invite, make, type Person, register, withToken } from '../support/client.ts'
import { listTasks, search } from './random/searches.ts'

const pair = await openPair()
const { atA } = pair
const [ada, bea] = [await register(atA, 'Ada'), await register(atA, 'Bea')]
const everywhere = (person: Person) => [at(person, pair.a), at(person, pair.b)]

interface Secret {
  project: Body
  task: Body
  comment: Body
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
  const subtask = await make(owner, `/tasks/${task.id}/subtasks`, { title: word('subtask') })
  const kinds = ['project', 'about', 'task', 'text', 'comment', 'subtask']
  return {
    ...{ project, task, comment },
    queries: [
      ...kinds.map(word),
      ...[name, `"${word('task')}"`, word('task').replace('osaur', 'osuar'), externalId],
      ...[project.id, task.id, comment.id, subtask.id],
    ],
  }
}

/** Returns the queries by which the person finds something of the secret, also as a similar title. */
async function findings(person: Person, { project, queries }: Secret): Promise<string[]> {
  const found: string[] = []
  for (const client of everywhere(person))
    for (const q of queries) {
      const hits = [...(await search(client, q)), ...(await listTasks(client, q))]
      if (hits.some((hit) => hit.projectId === project.id || hit.id === project.id)) found.push(q)
    }
  return found
}

const sees = async (person: Person, secret: Secret) => {
  const found = await findings(person, secret)
  expect(found.length).toBeGreaterThan(secret.queries.length)
}
const seesNothing = async (person: Person, secret: Secret) =>
  expect(await findings(person, secret)).toEqual([])

test('no word, id or similar title of a project is found by others', async () => {
  const secret = await openSecret(ada, 'allo')
  await sees(ada, secret)
  await seesNothing(bea, secret)
  for (const client of everywhere(bea))
    for (const path of ['search', 'tasks'])
      for (const id of [secret.project.id, unknownId])
        expectError(await client.get(`/${path}?q=allo&projectId=${id}`), 404, 'Project not found')
})

test('a member finds a project from the invitation to the removal', async () => {
  const secret = await openSecret(ada, 'bronto')
  const member = await invite(ada, secret.project.id, bea)
  await sees(bea, secret)
  await ada.delete(`/projects/${secret.project.id}/members/${member.id}`)
  await seesNothing(bea, secret)
  await sees(ada, secret)
})

test('a token for projects finds nothing in other projects', async () => {
  const [own, other] = [await openSecret(ada, 'cerato'), await openSecret(ada, 'diplo')]
  const bound = await withToken(ada, { scopes: ['read'], projects: [own.project.id] })
  await sees(bound, own)
  await seesNothing(bound, other)
  expectError(await bound.get(`/search?q=diplo&projectId=${other.project.id}`), 404, 'Project not found')
})

test('a deleted project, task or comment is not found, and a moved task is found by members of its new project', async () => {
  const [from, to] = [await openSecret(ada, 'elasmo'), await openSecret(ada, 'fabro')]
  await invite(ada, to.project.id, bea)
  const titles = async (person: Person, q: string) => (await search(person, q)).map(({ title }) => title)
  await ada.patch(`/tasks/${from.task.id}`, { projectId: to.project.id })
  for (const client of everywhere(bea)) {
    expect(await titles(client, 'elasmotask')).toEqual([from.task.title])
    expect(await titles(client, 'elasmocomment')).toEqual([from.task.title])
    expect((await listTasks(client, 'elasmosubtask')).map(({ id }) => id)).toEqual([from.task.id])
  }
  await ada.patch(`/tasks/${from.task.id}`, { projectId: from.project.id })
  await seesNothing(bea, from)
  await ada.delete(`/tasks/comments/${to.comment.id}`)
  for (const client of everywhere(ada)) expect(await titles(client, 'fabrocomment')).toEqual([])
  await ada.delete(`/tasks/${to.task.id}`)
  for (const client of everywhere(ada))
    for (const q of ['fabrotask', 'fabrotext', to.task.id, 'FABRO-1', 'fabrotasc'])
      expect([q, await titles(client, q), await listTasks(client, q)]).toEqual([q, [], []])
  await ada.delete(`/projects/${to.project.id}`)
  await seesNothing(ada, to)
})

test('a search needs a token with the scope read', async () => {
  for (const path of ['/search?q=a', '/tasks?q=a']) {
    expectError(await atA.as().get(path), 401)
    expectError(await atA.as('no token').get(path), 401)
  }
})
