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

test('undos that did what they say are found right', () => {
  expect(found(changedBack())).toBe('')
  expect(found(broughtBack())).toBe('')
})

test('an acknowledged undo that is not in the history is lost', () => {
  expect(found(changedBack(), ({ evidence }) => evidence.facts.pop())).toContain('undo key 4')
  expect(found(broughtBack(), ({ evidence }) => evidence.facts.pop())).toContain(
    'which is not in the history',
  )
})

test('an undo that nobody asked for, and one that was made twice, is told', () => {
  const again = (told: Told) => {
    const { type, before, after } = told.evidence.facts[3]!
    happened(told, { type, before: { ...after! }, after: before, undoes: 3 })
  }
  expect(found(changedBack(), again)).toContain('takes back what nobody asked for')
  expect(found(changedBack(), ({ evidence }) => evidence.kept.delete('key 4'))).toContain('left no answer')
})

test('an undo that passes over what came since is told', () => {
  const spoil = (told: Told, last: Fact) => {
    last.before = { ...last.before!, title: 'later' }
    answering(told)
  }
  expect(found(changedBack(), spoil)).toContain('and loses what came since in title')
})

test('an undo that leaves something else than was there before is told', () => {
  const spoil = (told: Told, last: Fact) => leaving(told, last, { ...last.after!, title: 'another' })
  expect(found(changedBack(), spoil)).toContain('and leaves another title')
  const more = (told: Told, last: Fact) => leaving(told, last, { ...last.after!, status: 'DONE' })
  expect(found(changedBack(), more)).toContain('and leaves another status')
  const other = (told: Told, last: Fact) => leaving(told, last, { ...last.after!, title: 'another' })
  expect(found(broughtBack(), other)).toContain('came back otherwise than it went')
})

test('what did not come back with its task is lost', () => {
  const spoil = (told: Told) => {
    const { evidence, operations } = told
    evidence.facts.pop()
    evidence.rows.pop()
    evidence.streams[0]!.version = 5
    evidence.facts.at(-1)!.batch = null
    operations.pop()
    undid(told, { seq: 4 }, [evidence.facts.at(-1)!])
  }
  expect(found(broughtBack(), spoil)).toContain(`lost ${step}, which hung on a task`)
})

test('an undo of more, or of less, than it names is told', () => {
  const naming = (seqs: number[]) => (told: Told) => void (told.operations.at(-1)!.body = { seqs })
  expect(found(changedBack(), naming([2, 3]))).toContain('left 2 as it was')
  expect(found(changedBack(), naming([2]))).toContain('took 3 back, which it does not name')
})

test('an undo by who may not is told', () => {
  const spoil = (told: Told, last: Fact) => {
    told.operations.at(-1)!.callerId = last.actorId = idOf(999)
    answering(told)
  }
  expect(found(changedBack(), spoil)).toContain('took 3 back for a stranger')
})

test('a dry run that took effect, or says what would not come of it, is told', () => {
  const path = `/projects/${project}/undo?dryRun=true`
  const effective = (told: Told) => void (told.operations.at(-1)!.path = path)
  expect(found(changedBack(), effective)).toContain('was a dry run, and took effect')
  const dry = (undoes: number) => (told: Told, last: Fact) => {
    const fact = { ...last, seq: 5, id: idOf(77), undoes }
    const changes = [JSON.parse(shownFact(fact, new Map())) as object]
    undid(told, { seq: 4 }, [last], { path, key: 'dry', text: JSON.stringify({ version: 4, changes }) })
  }
  expect(found(changedBack(), dry(4))).toBe('')
  expect(found(changedBack(), dry(2))).toContain('would take back otherwise')
})

test('an undo that is refused for what nobody changed is told', () => {
  const refused = (message: string) => (told: Told) => {
    const text = JSON.stringify({ statusCode: 409, message, error: 'Conflict' })
    const about = { entity: 'project' as const, id: project, projectId: project }
    const path = `/projects/${project}/undo`
    asked(told, { kind: 'undo', path, body: { seq: 4 }, text, status: 409, key: 'refused', about })
    told.evidence.kept.delete('refused')
  }
  const overtaken = 'Seq 4 cannot be undone: title changed since by seq'
  expect(found(changedBack(), refused(`${overtaken} 5`))).toContain('was refused: ')
  expect(found(changedBack(), refused('A move between projects cannot be undone: move it'))).toContain(
    'was refused: ',
  )
})

test('a newest page of a history that shows another one, or an old one, is told', () => {
  const page = (seqs: number[]) => (told: Told) => {
    const { facts, people } = told.evidence
    const text = `[${seqs.map((seq) => shownFact(facts[seq - 1]!, people)).join()}]`
    const about = { entity: 'project' as const, id: project, projectId: project }
    const asking = {
      kind: 'project.history',
      path: `/projects/${project}/history`,
      about,
      text,
      callerId: owner,
    }
    told.operations.push({ ...read(2, 60, 65), ...asking })
  }
  expect(found(changedBack(), page([4, 3, 2, 1]))).toBe('')
  expect(found(changedBack(), page([4, 2, 1]))).toContain('shows')
  expect(found(changedBack(), page([3, 2, 1]))).toContain('version 4 stood at 45.0 ms')
})
