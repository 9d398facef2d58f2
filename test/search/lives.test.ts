import { cases, openPair, Random } from '../kit.ts'
import { openLife } from './life.ts'

/** A life ends after this number of writes and searches with hits. */
const [writes, minFound] = [60, 30]
const lives = cases(2)
const { a, b, atA, sql } = await openPair()

test(`at two processes, each search after a write has exactly the hits of the reference: ${lives} lives`, async () => {
  for (let n = 0; n < lives; n++) {
    const seed = Number(process.env.SEARCH_SEED ?? Math.floor(Math.random() * 1_000_000))
    const { counts, history, step } = await openLife(new Random(seed), atA, sql, [a.url, b.url], true)
    try {
      while (counts.writes < writes || counts.found < minFound) await step()
    } catch (error) {
      console.log(`SEARCH_SEED=${seed}, write ${counts.writes}: ${history.slice(-8).join(', ')}`)
      throw error
    }
  }
}, 600_000)
