import type { Answer, Body } from '../kit.ts'

interface BatchResult {
  version: number
  results: (Body & { etag: string | null })[]
}

export const batchResult = ({ status, body, text }: Answer): BatchResult => {
  expect([status, text]).toEqual([200, text])
  return body as unknown as BatchResult
}

export const newTask = (title: string, fields: object = {}) => ({ op: 'task.create', title, ...fields })
