import type { Fault } from './faults.ts'

const away: Fault = async ({ stand: { receivers }, random, strike }) => {
  strike()
  await receivers.down()
  await Bun.sleep(random.between(500, 4_000))
  await receivers.up()
}

/** They take everything, and say nothing. */
const silent: Fault = async ({ stand: { receivers }, random, strike }) => {
  strike()
  receivers.be('silent')
  await Bun.sleep(random.between(500, 4_000))
  receivers.be()
}

export const strikeReceivers = { 'receivers away': away, 'receivers silent': silent }
