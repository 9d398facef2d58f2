import { startAsked } from './asked.ts'

export interface Delivered {
  events: number
  posts: number
  /** From the commit of an event until its receiver has it. */
  p50Ms: number
  p99Ms: number
}

const quietMs = 1_000

/** Somebody whom webhooks are sent to, in a process of its own. */
export async function openReceiver() {
  const { first: url, ask, stop } = await startAsked('receiver.ts')
  const delivered = async () => JSON.parse(await ask('delivered')) as Delivered
  return {
    url,
    stop,
    /** From now on only what comes is counted. */
    begin: () => ask('afresh'),
    /** What has come when nothing came for a second, or the time is over. */
    async settled(withinMs: number): Promise<Delivered> {
      const end = performance.now() + withinMs
      let before = await delivered()
      while (performance.now() < end) {
        await Bun.sleep(quietMs)
        const now = await delivered()
        if (now.events === before.events) break
        before = now
      }
      return before
    },
  }
}
