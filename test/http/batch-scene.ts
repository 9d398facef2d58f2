import { expect } from 'bun:test'
import type { Answer, Body } from '../support/client.ts'

interface Done {
  version: number
  results: (Body & { etag: string | null })[]
}

export const batchResult = ({ status, body, text }: Answer): Done => {
  expect([status, text]).toEqual([200, text])
  return body as unknown as Done
}

export const createOperation = (title: string, others: object = {}) => ({
  op: 'task.create',
  title,
  ...others,
})
