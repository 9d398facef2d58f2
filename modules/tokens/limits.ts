import { badRequest, conflict, notFound } from '../../src/wire/refusals.ts'

/** Of one account. */
export const maxTokens = 100

export const full = () => conflict(`An account has at most ${maxTokens} tokens`)
export const badExpiry = () => badRequest('expiresAt must be a time in the coming year')
export const noToken = () => notFound('Token')
