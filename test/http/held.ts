import type { Answer } from '../support/client.ts'
import type { TestService } from '../support/service.ts'

/** Asks, and gives the answer to come once the service holds it. */
export async function heldIn({ services: { followers } }: TestService, ask: () => Promise<Answer>) {
  const { follow } = followers
  const { promise: isHeld, resolve } = Promise.withResolvers<void>()
  followers.follow = (...given) => {
    resolve()
    return follow(...given)
  }
  const answer = ask()
  await Promise.race([isHeld, answer])
  followers.follow = follow
  return { answer }
}
