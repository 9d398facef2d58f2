import type { Task } from '../schemas.ts'
import type { Transport } from '../transport.ts'
import type { Snapshot } from './events.ts'
import { follow, type FeedItem } from './follow.ts'
import { Replica } from './replica.ts'

/** A map whose iterators return the entries in the order of their keys. */
class SortedMap<Value> extends Map<string, Value> {
  #last = ''
  #isSorted = true

  override set(key: string, value: Value): this {
    if (key > this.#last) this.#last = key
    else if (!this.has(key)) this.#isSorted = false
    return super.set(key, value)
  }

  override entries(): MapIterator<[string, Value]> {
    this.#sort()
    return super.entries()
  }

  override keys(): MapIterator<string> {
    this.#sort()
    return super.keys()
  }

  override values(): MapIterator<Value> {
    this.#sort()
    return super.values()
  }

  override [Symbol.iterator](): MapIterator<[string, Value]> {
    return this.entries()
  }

  override forEach(visit: (value: Value, key: string, map: Map<string, Value>) => void): void {
    for (const [key, value] of this) visit(value, key, this)
  }

  /** Sorts the map only if a key was added out of order. Ids of new tasks ascend, so this is rare. */
  #sort(): void {
    if (this.#isSorted) return
    this.#isSorted = true
    const entries = [...super.entries()].sort(([a], [b]) => (a < b ? -1 : 1))
    super.clear()
    for (const [key, value] of entries) super.set(key, value)
  }
}

/** `ids`: the tasks that may have changed. If `mirror.get(id)` returns undefined, the task was deleted or moved. */
export interface MirrorChange {
  seq: number
  ids: readonly string[]
}

type Subscriber = (change: MirrorChange) => void

/**
 * The tasks of a project by id, in the order of `GET /tasks`, kept current until the signal aborts. The caller must not
 * change the map.
 */
export class Mirror extends SortedMap<Task> {
  readonly #transport: Transport
  readonly #projectId: string
  readonly #signal: AbortSignal | undefined
  readonly #subscribers = new Set<Subscriber>()
  readonly #ready: Promise<void>
  readonly #ended: Promise<void>
  #replica = new Replica({ tasks: [], labels: [], fields: [] })
  #seq = 0

  constructor(transport: Transport, projectId: string, signal?: AbortSignal) {
    super()
    this.#transport = transport
    this.#projectId = projectId
    this.#signal = signal
    let markReady = () => {}
    const first = new Promise<void>((resolve) => (markReady = resolve))
    this.#ended = this.#run(markReady)
    this.#ready = Promise.race([first, this.#ended])
    for (const promise of [this.#ended, this.#ready]) promise.catch(() => {})
  }

  get tasks(): this {
    return this
  }

  /** Resolves when the map contains all tasks, or when the signal aborts. */
  get ready(): Promise<void> {
    return this.#ready
  }

  /** Resolves when the signal aborts. Rejects if the caller may not read the project any more. */
  get ended(): Promise<void> {
    return this.#ended
  }

  /** The version of the project that the map shows. */
  get seq(): number {
    return this.#seq
  }

  /** Calls `subscriber` after each change. Returns a function that ends the subscription. */
  subscribe(subscriber: Subscriber): () => void {
    const own: Subscriber = (change) => subscriber(change)
    this.#subscribers.add(own)
    return () => void this.#subscribers.delete(own)
  }

  /** Waits until the map shows the version `seq`, or until the mirror ends. @throws the error that ended the mirror */
  async reach(seq: number): Promise<void> {
    if (this.#seq >= seq) return
    let stop = () => {}
    const reached = new Promise<void>((resolve) => {
      stop = this.subscribe((change) => void (change.seq >= seq && resolve()))
    })
    await Promise.race([reached, this.#ended]).finally(stop)
  }

  async #run(markReady: () => void): Promise<void> {
    const signal = this.#signal
    try {
      for (let needsSnapshot = true; needsSnapshot;) {
        needsSnapshot = false
        for await (const item of follow(this.#transport, this.#projectId, { snapshot: true, signal })) {
          needsSnapshot = !this.#apply(item)
          if (needsSnapshot) break
          markReady()
        }
      }
    } catch (error) {
      if (!signal?.aborted) throw error
    }
  }

  /** Returns false if a new snapshot is necessary. */
  #apply(item: FeedItem): boolean {
    if (item.type === 'snapshot') {
      this.#replace(item)
      return true
    }
    if (item.seq <= this.#seq) return true
    const ids = this.#replica.apply(item)
    if (ids) this.#show(item.seq, ids)
    return ids !== null
  }

  #replace(snapshot: Snapshot): void {
    this.#replica = new Replica(snapshot)
    this.#show(snapshot.seq, new Set([...this.keys(), ...snapshot.tasks.map(({ id }) => id)]))
  }

  #show(seq: number, ids: Iterable<string>): void {
    this.#seq = seq
    const changed = [...ids]
    for (const id of changed) {
      const task = this.#replica.task(id)
      if (task) this.set(id, task)
      else this.delete(id)
    }
    for (const subscriber of this.#subscribers) notify(subscriber, { seq, ids: changed })
  }
}

/** An error of a subscriber becomes an uncaught error, so that the mirror continues. */
function notify(subscriber: Subscriber, change: MirrorChange): void {
  try {
    subscriber(change)
  } catch (error) {
    queueMicrotask(() => {
      throw error
    })
  }
}
