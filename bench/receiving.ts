import { startChildScript } from './child-script.ts'

export interface DeliveryStats {
  events: number
  posts: number
  /** From the commit of an event until its delivery. */
  p50Ms: number
  p99Ms: number
}

const quietMs = 1_000

export async function openReceiver() {
  const { first: url, ask, stop } = await startChildScript('receiver.ts')
  const delivered = async () => JSON.parse(await ask('delivered')) as DeliveryStats
  return {
    url,
    stop,
    begin: () => ask('afresh'),
    /** Returns the result after a second without a delivery, or after the timeout. */
    async settled(withinMs: number): Promise<DeliveryStats> {
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
