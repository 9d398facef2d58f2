import { expect, test } from 'bun:test'
import fc from 'fast-check'
import { encodeFrame, type Frame, FrameReader } from '../../src/channel/frames.ts'
import { decodeAnswers, decodeAsks, encodeAnswers, encodeAsks } from '../../src/channel/messages.ts'
import type { Answer } from '../../src/channel/protocol.ts'

const mostBytes = 4_096

function readAll(chunks: Buffer[], most = mostBytes): Frame[] {
  const reader = new FrameReader(most)
  return chunks.flatMap((chunk) => {
    reader.push(chunk)
    const frames: Frame[] = []
    for (let frame = reader.next(); frame; frame = reader.next()) frames.push(frame)
    return frames
  })
}

/** The bytes, cut at these places. */
function cutAt(bytes: Buffer, places: number[]): Buffer[] {
  const ends = [...new Set(places.map((place) => place % (bytes.length + 1)))].sort((a, b) => a - b)
  return [...ends, bytes.length].map((end, i) => Buffer.from(bytes.subarray(i > 0 ? ends[i - 1] : 0, end)))
}

const frames = fc.array(fc.tuple(fc.integer({ min: 0, max: 255 }), fc.uint8Array({ maxLength: 300 })))

test('a stream of bytes holds the same frames however it is cut', () => {
  fc.assert(
    fc.property(frames, fc.array(fc.nat(), { maxLength: 40 }), (sent, places) => {
      const bytes = Buffer.concat(sent.map(([kind, body]) => encodeFrame(kind, body)))
      const read = readAll(cutAt(bytes, places))
      expect(read.map(({ kind, body }) => [kind, [...body]])).toEqual(
        sent.map(([kind, body]) => [kind, [...body]]),
      )
    }),
  )
})

test('a frame of the size allowed is read, one byte more is refused by its head alone', () => {
  const whole = encodeFrame(5, 'x'.repeat(mostBytes))
  expect(readAll([whole])).toHaveLength(1)
  const head = encodeFrame(5, 'x'.repeat(mostBytes + 1)).subarray(0, 5)
  expect(() => readAll([head])).toThrow('4097 bytes')
  expect(() => readAll([Buffer.from([255, 255, 255, 255, 1])])).toThrow('4294967295 bytes')
})

const text = fc.string({ unit: 'binary' })
const payload = fc.jsonValue({ stringUnit: 'binary' }).map((value) => JSON.parse(JSON.stringify(value)))

test('asks are heard as they were sent', () => {
  const asks = fc.array(fc.record({ payload, deadline: fc.integer() }))
  fc.assert(
    fc.property(fc.nat(), asks, (firstId, sent) => {
      const texts = sent.map(({ deadline, payload }) => ({ deadline, text: JSON.stringify(payload) }))
      const heard = decodeAsks(Buffer.from(encodeAsks(firstId, texts)).toString())
      expect(heard).toEqual(sent.map((ask, i) => ({ id: firstId + i, ...ask })))
    }),
  )
})

const reply = fc.record({
  kind: fc.constant('reply' as const),
  status: fc.integer({ min: 200, max: 299 }),
  body: text,
  etag: fc.option(text),
})
const replayed = reply.map((one) => ({ ...one, replayed: true as const }))
const refusal = fc.record({
  kind: fc.constant('refusal' as const),
  status: fc.constantFrom(400 as const, 503 as const),
  message: text,
  headers: fc.dictionary(fc.string(), fc.string(), { noNullPrototype: true }),
})
const answer: fc.Arbitrary<Answer> = fc.oneof(
  reply,
  replayed,
  refusal,
  fc.constantFrom({ kind: 'unknown' as const }, { kind: 'failed' as const }),
)

test('answers are heard as they were given, whatever stands in their bodies', () => {
  fc.assert(
    fc.property(fc.nat(), fc.array(fc.record({ id: fc.nat(), answer })), (clock, all) => {
      expect(decodeAnswers(Buffer.from(encodeAnswers(clock, all)).toString())).toEqual({ clock, all })
    }),
  )
})
