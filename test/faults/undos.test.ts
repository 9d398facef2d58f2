import { expect, test } from 'bun:test'
import { type Fact, type Row, shownFact } from './evidence.ts'
import { idOf, owner, project, read, type Told, verdictOn } from './given.ts'
import { asked, broughtBack, changedBack, happened, step, undid } from './given-undone.ts'

function found(told: Told, spoil: (told: Told, last: Fact) => unknown = () => {}): string {
  spoil(told, told.evidence.facts.at(-1)!)
  return verdictOn(told)
    .violations.map(({ check, detail }) => `${check}: ${detail}`)
    .join('\n')
}

function leaving(told: Told, last: Fact, after: Row): void {
  last.after = { ...after, eventId: last.id }
  Object.assign(told.evidence.rows.at(-1)!, { row: last.after })
  answering(told)
}
function answering({ evidence, operations }: Told): void {
  const { text, key } = operations.at(-1)!
  const said = JSON.parse(text) as { version: number; changes: { id: string }[] }
  const { facts, people, kept } = evidence
  const changes = said.changes.map(({ id }): unknown =>
    JSON.parse(
      shownFact(
        facts.find((one) => one.id === id)!,
        people,
      ),
    ),
  )
  const body = JSON.stringify({ ...said, changes })
  operations.at(-1)!.text = body
  kept.get(key)!.body = body
}

const again = (told: Told) => {
  const { type, before, after } = told.evidence.facts[3]!
  happened(told, { type, before: { ...after! }, after: before, undoes: 3 })
}
const passingOver = (told: Told, last: Fact) => {
  last.before = { ...last.before!, title: 'later' }
  answering(told)
}
const changing = (fields: Partial<Row>) => (told: Told, last: Fact) =>
  leaving(told, last, { ...last.after!, ...fields })
const withoutItsSubtask = (told: Told) => {
  const { evidence, operations } = told
  evidence.facts.pop()
  evidence.rows.pop()
  evidence.streams[0]!.version = 5
  evidence.facts.at(-1)!.batch = null
  operations.pop()
  undid(told, { seq: 4 }, [evidence.facts.at(-1)!])
}
const naming = (seqs: number[]) => (told: Told) => void (told.operations.at(-1)!.body = { seqs })
const byAStranger = (told: Told, last: Fact) => {
  told.operations.at(-1)!.callerId = last.actorId = idOf(999)
  answering(told)
}
const path = `/projects/${project}/undo`
const about = { entity: 'project' as const, id: project, projectId: project }
const dry = (undoes: number) => (told: Told, last: Fact) => {
  const fact = { ...last, seq: 5, id: idOf(77), undoes }
  const text = JSON.stringify({ version: 4, changes: [JSON.parse(shownFact(fact, new Map())) as object] })
  undid(told, { seq: 4 }, [last], { path: `${path}?dryRun=true`, key: 'dry', text })
}
const refused = (message: string) => (told: Told) => {
  const text = JSON.stringify({ statusCode: 409, message, error: 'Conflict' })
  asked(told, { kind: 'undo', path, body: { seq: 4 }, text, status: 409, key: 'refused', about })
  told.evidence.kept.delete('refused')
}
/** Somebody reads the newest page of the history, and is shown these events. */
const page = (seqs: number[]) => (told: Told) => {
  const { facts, people } = told.evidence
  const text = `[${seqs.map((seq) => shownFact(facts[seq - 1]!, people)).join()}]`
  const asking = {
    kind: 'project.history',
    path: `/projects/${project}/history`,
    about,
    text,
    callerId: owner,
  }
  told.operations.push({ ...read(2, 60, 65), ...asking })
}

test('undos, dry runs and histories that are as they say are found right', () => {
  for (const right of [changedBack(), broughtBack()]) expect(found(right)).toBe('')
  for (const more of [dry(4), page([4, 3, 2, 1])]) expect(found(changedBack(), more)).toBe('')
})

/** Each finding, and a change of a run with an undo that leads to it. */
const ofChange: Record<string, Parameters<typeof found>[1]> = {
  'undo key 4': ({ evidence }) => evidence.facts.pop(),
  'takes back what nobody asked for': again,
  'and another build on the same row': (told, { type, before, after }) =>
    happened(told, { type, before, after }),
  'left no answer': ({ evidence }) => evidence.kept.delete('key 4'),
  'and loses what came since in title': passingOver,
  'and leaves another title': changing({ title: 'another' }),
  'and leaves another status': changing({ status: 'DONE' }),
  'left 2 as it was': naming([2, 3]),
  'took 3 back, which it does not name': naming([2]),
  'took 3 back for a stranger': byAStranger,
  'was a dry run, and took effect': ({ operations }) => (operations.at(-1)!.path += '?dryRun=true'),
  'would take back otherwise': dry(2),
  'was refused: {"statusCode":409,"message":"Seq 4': refused(
    'Seq 4 cannot be undone: title changed since by seq 5',
  ),
  'was refused: {"statusCode":409,"message":"A move': refused(
    'A move between projects cannot be undone: move it',
  ),
  shows: page([4, 2, 1]),
  'version 4 stood at 45.0 ms': page([3, 2, 1]),
}
const ofDeletion: typeof ofChange = {
  'which is not in the history': ({ evidence }) => evidence.facts.pop(),
  'came back otherwise than it went': changing({ title: 'another' }),
  [`lost ${step}, which hung on a task`]: withoutItsSubtask,
}
test.each(Object.entries(ofChange))('a spoilt undo of a change is found: %s', (finding, spoil) =>
  expect(found(changedBack(), spoil)).toContain(finding),
)
test.each(Object.entries(ofDeletion))('a spoilt undo of a deletion is found: %s', (finding, spoil) =>
  expect(found(broughtBack(), spoil)).toContain(finding),
)
