import { digest } from './check-lists.ts'
import { type Evidence, type Fact, shownFact } from './evidence.ts'
import type { Hook } from './hooks.ts'
import type { Received } from './receivers.ts'

export interface Sent {
  hooks: Hook[]
  received: Received[]
  /** Digests of the events of whole feeds, by project. */
  feeds: Map<string, string[]>
}

/**
 * Each webhook was sent every event since it was made, as the feed shows it, and nothing else; none before all that
 * come before it were accepted; and what was sent again was the same.
 */
export function checkDeliveries({ hooks, received, feeds }: Sent, { facts, people }: Evidence): string[] {
  const histories = Map.groupBy(facts, ({ projectId }) => projectId)
  const came = Map.groupBy(received, ({ path }) => path)
  const shown = new Map<string, string>()
  const textOf = (fact: Fact) => {
    const text = shown.get(fact.id) ?? digest(shownFact(fact, people))
    shown.set(fact.id, text)
    return text
  }
  const faults = [...feeds].flatMap(([projectId, events]) => {
    const history = histories.get(projectId) ?? []
    const at = history.findIndex((fact, i) => textOf(fact) !== events[i])
    if (at < 0 && events.length === history.length) return []
    if (at === events.length) return [`the feed of ${projectId} ends at ${at} of ${history.length} events`]
    return [`the feed of ${projectId} shows another event ${at < 0 ? history.length + 1 : at + 1}`]
  })
  for (const hook of hooks) {
    if (!hook.known) continue
    const history = histories.get(hook.project.id) ?? []
    const own = came.get(hook.path) ?? []
    const found = [...otherwise(own, history, textOf), ...outOfOrder(hook, own, history)]
    faults.push(...found.map((text) => `webhook ${hook.known!.id} (${hook.path}) ${text}`))
  }
  return faults
}

/** What was sent that is not in the log, or not what was sent before as the same. */
function otherwise(received: Received[], history: Fact[], textOf: (fact: Fact) => string): string[] {
  const known = new Map<string, string>()
  return received.flatMap(({ id, whole, seqs, events }) => {
    const first = known.get(id) ?? whole
    known.set(id, first)
    const isOther = (seq: number, i: number) => !history[seq - 1] || textOf(history[seq - 1]!) !== events[i]
    const other = seqs.find(isOther)
    return [
      ...(first === whole ? [] : [`was sent ${id} again with another body`]),
      ...(other === undefined ? [] : [`was sent another event ${other}`]),
    ]
  })
}

/** What was sent before all that comes before it was accepted, and what never was. */
function outOfOrder(hook: Hook, received: Received[], history: Fact[]): string[] {
  const { known, types, isGone } = hook
  const wanted = history
    .filter(({ seq, type }) => seq > known!.after && (!types || types.includes(type)))
    .map(({ seq }) => seq)
  const place = new Map(wanted.map((seq, i) => [seq, i]))
  const accepted = received.filter((one) => one.accepted).sort((a, b) => a.accepted! - b.accepted!)
  const faults: string[] = []
  let [done, next] = [0, 0]
  const acceptUntil = (step: number) => {
    for (; next < accepted.length && accepted[next]!.accepted! < step; next++)
      done = Math.max(done, (place.get(accepted[next]!.seqs.at(-1)!) ?? -1) + 1)
  }
  for (const { came, seqs } of received) {
    acceptUntil(came)
    const first = place.get(seqs[0]!)
    const isWhole = first !== undefined && seqs.every((seq, i) => seq === wanted[first + i])
    if (!isWhole) faults.push(`was sent ${seqs.join()}, which is no stretch of what it wants`)
    else if (first > done) faults.push(`was sent ${seqs[0]} before it had ${wanted[done]}`)
  }
  acceptUntil(Infinity)
  if (isGone || history.at(-1)?.type === 'project.deleted') return faults
  const left = wanted.slice(done)
  if (left.length > 0) faults.push(`was never sent ${left[0]} and ${left.length - 1} more`)
  return [...faults, ...notAgain(hook, received, wanted)]
}

function notAgain({ replays }: Hook, received: Received[], wanted: number[]): string[] {
  const last = replays.at(-1)
  const from = last && wanted.find((seq) => seq > last.after)
  if (!from || received.some(({ came, seqs }) => came > last.since && seqs[0] === from)) return []
  return [`was not sent again what comes after ${last.after}`]
}
