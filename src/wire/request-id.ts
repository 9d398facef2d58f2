import { randomBytes } from 'node:crypto'

const process = randomBytes(6).toString('hex')
let count = 0

/** An id for one answer: which process gave it, and its how-manieth it was. */
export const requestId = (): string => `${process}-${(++count).toString(36)}`
