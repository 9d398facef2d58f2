import { usageError } from './failure.ts'

/** @throws Failure 2 unless the text is a whole number from `min` to `max` */
export function readCount(name: string, text: string, min = 0, max = Number.MAX_SAFE_INTEGER): number {
  const value = /^\d+$/.test(text) ? Number(text) : NaN
  if (value >= min && value <= max) return value
  const range = max === Number.MAX_SAFE_INTEGER ? `of at least ${min}` : `from ${min} to ${max}`
  throw usageError(`--${name} must be a whole number ${range}`)
}

export const readLimit = (text: string | undefined, fallback = Infinity): number =>
  text === undefined ? fallback : readCount('limit', text, 1)
