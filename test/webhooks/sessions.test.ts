import { allPages, invite, makeTasks, openForEach, register } from '../kit.ts'
import type { Answer, Client } from '../kit.ts'
import { testSessions } from '../support/http-sessions.ts'
import { verified } from './receiver.ts'
import { type Hook, openWebhooks } from './scene.ts'

const openScene = await openWebhooks()
const forEach = openForEach()

interface Attempt {
  deliveryId: string
  attempt: number
  status: number | null
  error: string | null
  answer: string
  at: string
}

const rejection = ({ status, body }: Answer) => (status < 400 ? '' : `${status} ${body.message}`)

/** A project of Ada with another ADMIN, Bea, and a receiver. A webhook is named by its path at the receiver. */
async function openSection() {
  const answers: Record<string, string[]> = {}
  const { promise: released, resolve: release } = Promise.withResolvers<void>()
  const opening = openScene(undefined, async (response, { path }) => {
    const all = answers[path] ?? ['200']
    const answer = all.length > 1 ? all.shift()! : all[0]!
    if (answer.startsWith('held:')) await released
    const [status, wait = '3600'] = answer.replace('held:', '').split('/')
    response.writeHead(Number(status), { 'retry-after': wait }).end(`Answer ${status}`)
  })
  const scene = await forEach(opening)
  const bea = await register(scene.service.client, 'Bea')
  await invite(scene.ada, scene.projectId, bea, 'ADMIN')
  const hooks: Record<string, Hook> = {}
  return { ...scene, bea, answers, release, hooks, pathOf: (name: string) => scene.path(hooks[name]!.id) }
}
type Section = Awaited<ReturnType<typeof openSection>>
type Command = (name: string, rest: string, by: Client) => unknown

function writesIn({ all, answers, release, projectId, receiver, sql, hooks, pathOf, hurry }: Section) {
  const urlOf = (name: string) => (name.startsWith('/') ? receiver.url + name : name)
  return {
    answers: (name, list) => void (answers[name] = list.split(' ')),
    release: () => release(),
    tasks: async (count, _, by) => void (await makeTasks(by, projectId, Number(count))),
    async create(name, fields, by) {
      const answer = await by.post(all, { url: urlOf(name), ...JSON.parse(fields || '{}') })
      hooks[name] = answer.body as Hook
      return rejection(answer)
    },
    async change(name, fields, by) {
      const { url, ...others } = JSON.parse(fields) as { url?: string }
      if (url) hooks[url] = hooks[name]!
      return rejection(await by.patch(pathOf(name), { ...others, ...(url && { url: urlOf(url) }) }))
    },
    async rotate(name, _, by) {
      const { body } = await by.post(`${pathOf(name)}/rotate`)
      hooks[name]!.secret = (body as Hook).secret
    },
    delete: async (name, _, by) => rejection(await by.delete(pathOf(name))),
    replay: async (name, after, by) =>
      rejection(await by.post(`${pathOf(name)}/replay`, { after: after && JSON.parse(after) })),
    async test(name, _, by) {
      const { status, error, answer } = (await by.post(`${pathOf(name)}/test`)).body as unknown as Attempt
      return `${status} ${error ?? answer}`
    },
    // Begins the next attempts now, as if attempts had failed for so many days more.
    hurry: async (days) => void (await hurry(Number(days))),
    expire: async (seq) =>
      void (await sql`delete from events where project_id = ${projectId} and seq <= ${Number(seq)}`),
  } satisfies Record<string, Command>
}

/** Deliveries with the same id have the same letter. */
function readsIn({ ada, receiver, state, hooks, pathOf }: Section) {
  const ids: unknown[] = []
  const letterOf = (id: unknown) => 'ABCDEFGH'[ids.includes(id) ? ids.indexOf(id) : ids.push(id) - 1]
  const attemptsOf = async (name: string) => {
    const pages = await allPages(ada, `${pathOf(name)}/deliveries?limit=3`)
    return pages.flat() as unknown as Attempt[]
  }
  return {
    async state(name) {
      const { enabled, disabledReason, cursor, failures, nextAttemptAt } = await state(hooks[name]!.id)
      const [last] = nextAttemptAt ? await attemptsOf(name) : []
      const waitMs = last ? Date.parse(nextAttemptAt!) - Date.parse(last.at) : 0
      const wait = waitMs > 0 ? `, next attempt after ${Math.round(waitMs / 60_000)} min` : ''
      return `${enabled ? 'enabled' : `disabled: ${disabledReason}`}, cursor ${cursor}, failures ${failures}${wait}`
    },
    async attempts(name) {
      const lines = (await attemptsOf(name)).map(
        (one) => `${letterOf(one.deliveryId)} ${one.attempt}: ${one.status} ${one.error ?? one.answer}`,
      )
      return lines.join('\n')
    },
    /** Checks the signature of the last delivery. */
    deliveries(name) {
      const own = receiver.received.filter(({ path }) => path === name)
      if (own.length > 0) verified(hooks[name]!.secret, own.at(-1)!)
      const lines = own.map(({ headers, body: { type, data } }) => {
        const seqs = data.events.map(({ seq }) => seq)
        return `${letterOf(headers['webhook-id'])} ${type} ${seqs.join()}`
      })
      return lines.join('\n')
    },
    events: (name) => receiver.seqs(name).join(),
  } satisfies Record<string, Command>
}

testSessions('test/webhooks/sessions', async () => {
  const section = await openSection()
  const { ada, bea } = section
  const commands = Object.entries<Command>({ ...writesIn(section), ...readsIn(section) }).map(
    ([verb, command]) => {
      const split = (words: string, by: Client) => {
        const [name = '', rest = ''] = words.split(/ (.*)/)
        return command(name, rest, by)
      }
      return [verb, split] as const
    },
  )
  const values = { bea: bea.id.toUpperCase() }
  return { client: ada, people: { bea }, values, commands: Object.fromEntries(commands) }
})
