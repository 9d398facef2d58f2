import { mock } from 'bun:test'
import * as argon2 from '@node-rs/argon2'

const { hash } = argon2
/** A hash with the cost of the service takes 25 ms of CPU time, and everyday tests register thousands of users. */
const cheap = { memoryCost: 64, timeCost: 1 }

mock.module('@node-rs/argon2', () => ({
  ...argon2,
  hash: (password: string, cost: argon2.Options) => hash(password, { ...cost, ...cheap }),
}))
