import type { Answer } from './protocol.ts'

/** What an ask or an answer adds to its text in a frame, at most. */
export const envelopeBytes = 128

export interface SentAsk {
  /** The payload, in JSON. */
  text: string
  /** In whole milliseconds of the listener's clock. */
  deadline: number
}

export interface HeardAsk {
  id: number
  deadline: number
  payload: unknown
}

export interface Answered {
  id: number
  answer: Answer
}

const fieldsOfAnswer = 5

/** Ids count on from `firstId`. */
export function encodeAsks(firstId: number, asks: SentAsk[]): string {
  let text = `[${firstId}`
  for (const ask of asks) text += `,${ask.deadline},${ask.text}`
  return `${text}]`
}

export function decodeAsks(text: string): HeardAsk[] {
  const fields = JSON.parse(text) as [number, ...unknown[]]
  let id = fields[0]
  const asks: HeardAsk[] = []
  for (let i = 1; i < fields.length; i += 2)
    asks.push({ id: id++, deadline: fields[i] as number, payload: fields[i + 1] })
  return asks
}

/** Bodies are passed on as they are: they stand behind the line that tells them apart. */
export function encodeAnswers(clock: number, all: Answered[]): string {
  const head: unknown[] = [clock]
  let bodies = ''
  for (const { id, answer } of all) {
    if (answer.kind !== 'reply') {
      head.push(id, 0, answer, null, 0)
      continue
    }
    head.push(id, answer.status, answer.body.length, answer.etag, answer.replayed ? 1 : 0)
    bodies += answer.body
  }
  return `${JSON.stringify(head)}\n${bodies}`
}

export function decodeAnswers(text: string): { clock: number; all: Answered[] } {
  const line = text.indexOf('\n')
  const head = JSON.parse(text.slice(0, line)) as unknown[]
  const all: Answered[] = []
  let at = line + 1
  for (let i = 1; i < head.length; i += fieldsOfAnswer) {
    const [id, status, length, etag, replayed] = head.slice(i, i + fieldsOfAnswer) as AnswerFields
    if (typeof length !== 'number') {
      all.push({ id, answer: length })
      continue
    }
    const body = text.slice(at, (at += length))
    const reply = { kind: 'reply', status, body, etag } as const
    all.push({ id, answer: replayed ? { ...reply, replayed: true } : reply })
  }
  return { clock: head[0] as number, all }
}

type AnswerFields = [
  id: number,
  status: number,
  length: number | Exclude<Answer, { kind: 'reply' }>,
  etag: string | null,
  replayed: 0 | 1,
]
