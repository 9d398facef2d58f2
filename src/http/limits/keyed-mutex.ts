import { unavailable } from '../../wire/refusals.ts'

const mostWaiting = 100

/** Runs work that shares a key one after another, and other work beside it. @throws Refusal 503 when too much waits */
export function openKeyedMutex() {
  const lines = new Map<string, { last: Promise<unknown>; waiting: number }>()

  return async <T>(key: string, work: () => Promise<T>): Promise<T> => {
    const line = lines.get(key) ?? { last: Promise.resolve(), waiting: 0 }
    if (line.waiting >= mostWaiting) throw unavailable('Too many sign-ins wait')
    lines.set(key, line)
    line.waiting++
    const done = line.last.then(work)
    line.last = done.catch(() => {})
    try {
      return await done
    } finally {
      if (--line.waiting === 0) lines.delete(key)
    }
  }
}
