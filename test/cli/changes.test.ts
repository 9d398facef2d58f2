import { invite, make, register } from '../kit.ts'
import { openCliScene } from './scene.ts'

const { run, json, send, service, ada } = await openCliScene()
const { id } = await json(['projects', '--create', 'Engine'])
const env = { DOCKET_PROJECT: id }
const create = (title: string, as?: string) => ({ op: 'task.create', title, ...(as && { as }) })
const titles = async (project = id) =>
  (await json(['tasks', '-p', project])).map(({ title }: { title: string }) => title)

test('batch accepts an array, an object with operations, and one operation in a line', async () => {
  const operations = [create('Cast', 'cast'), { op: 'subtask.create', taskId: '#cast', title: 'Order brass' }]
  const first = await run(['batch'], { env, input: JSON.stringify(operations, null, 2) })
  expect([first.code, first.err]).toEqual([0, 'Committed 2 operations as batch 2: version 3\n'])
  expect(first.out).toMatch(/^OPERATION +# +ID\ntask.create +1 +\S+\nsubtask.create +\S+\n$/)
  const whole = JSON.stringify({ operations: [create('Draw')], ifVersion: 3 })
  expect((await json(['batch'], { env, input: whole })).version).toBe(4)
  const lines = `${JSON.stringify(create('Oil'))}\n\n${JSON.stringify(create('Bend'))}\r\n`
  expect((await json(['batch'], { env, input: `\ufeff${lines}` })).results).toHaveLength(2)
  expect((await json(['batch'], { env, input: JSON.stringify(create('One')) })).version).toBe(7)
  expect(await titles()).toEqual(['Cast', 'Draw', 'Oil', 'Bend', 'One'])
  expect(await json(['batch'], { env, input: JSON.stringify(create('Two')) })).toMatchObject({ batch: 8 })
  expect((await run(['undo', '--batch', '8'], { env })).err).toBe('Undid batch 8: version 9\n')
})

test('batch reports a line that is not JSON, a rejected operation and a changed version', async () => {
  const before = await titles()
  const wrong = await run(['batch'], { env, input: `${JSON.stringify(create('A'))}\n{"op":` })
  expect([wrong.code, wrong.err]).toEqual([2, 'docket: Line 2 of the input is not a JSON object\n'])
  const empty = await run(['batch'], { env, input: JSON.stringify([create('A'), create('')]) })
  expect([empty.code, empty.err]).toEqual([
    1,
    expect.stringContaining('docket: operations[1]: title must be'),
  ])
  const late = await run(['batch', '--if-version', '1'], { env, input: JSON.stringify([create('A')]) })
  expect(late.code).toBe(5)
  const dry = await run(['batch', '--dry-run'], { env, input: JSON.stringify([create('A')]) })
  expect([dry.code, dry.err]).toEqual([0, expect.stringContaining('Checked 1 operation')])
  expect(await titles()).toEqual(before)
})

test('batch --split commits each of more than 500 operations once, and shows its progress on a terminal', async () => {
  const { id: many } = await json(['projects', '--create', 'Many'])
  const input = Array.from({ length: 501 }, (_, n) => JSON.stringify(create(`Task ${n}`))).join('\n')
  const line = ['batch', '--project', many]
  expect((await run(line, { input })).err).toContain(
    'A batch has at most 500 operations, but the input has 501',
  )
  const onTerminal = await run([...line, '--split', '--key', 'import-1'], { input, columns: 80 })
  expect(onTerminal.err).toMatch(
    /░ 500\/501 operations[^]*█ 501\/501 operations\r\u001b\[KCommitted 501 operations/,
  )
  const again = await run([...line, '--split', '--key', 'import-1'], { input })
  expect(again.err).toBe('Committed 501 operations as batches 2, 502: version 502\n')
  expect(await json(['tasks', '-p', many])).toHaveLength(501)
})

test('batch --split reports the batches before a failed one, removes its progress bar, and exits with its code', async () => {
  const input = JSON.stringify(Array.from({ length: 501 }, (_, n) => create(`Task ${n}`)))
  const { id: project } = await json(['projects', '--create', 'Half'])
  let batches = 0
  const fetch = async (url: string, init: RequestInit) =>
    url.includes('/batch') && batches++ > 0
      ? Response.json({ message: 'The claim has ended' }, { status: 412 })
      : send(url, init)
  const line = ['batch', '--split', '--project', project]
  const { code, err } = await run(line, { input, fetch, columns: 80 })
  expect([code, Bun.stripANSI(err.slice(err.lastIndexOf('\r')))]).toEqual([
    5,
    '\rdocket: The first 500 operations are committed as batch 2 (version 501); the next batch failed: The claim has ended\n',
  ])
})

test('undo reverses an event, a batch, or the last change of the caller; --dry-run changes nothing', async () => {
  const { id: project } = await json(['projects', '--create', 'Undone'])
  const line = (...more: string[]) => ['undo', '--project', project, ...more]
  expect((await run(line())).err).toBe("docket: A project's creation cannot be undone: delete the project\n")
  for (const title of ['Draw', 'Oil']) await json(['add', title, '-p', project])
  const dry = await run(line('--dry-run'))
  expect([dry.code, dry.err]).toEqual([0, 'Undo of event 3: nothing has changed\n'])
  expect(dry.out).toMatch(/task.deleted +#2 Oil +undoes 3: Oil\n$/)
  expect((await run(line())).err).toBe('Undid event 3: version 4\n')
  expect(await titles(project)).toEqual(['Draw'])
  expect((await run(line())).err).toBe('Undid event 4: version 5\n')
  expect(await titles(project)).toEqual(['Draw', 'Oil'])
  expect((await json(line('--seq', '2'))).changes).toHaveLength(1)
  const input = JSON.stringify([create('A'), create('B')])
  await json(['batch', '-p', project], { input })
  expect((await run(line())).err).toBe('Undid batch 7: version 10\n')
  expect((await run(line('--batch', '7'))).code).toBe(5)
  expect(await titles(project)).toEqual(['Oil'])
})

test('a repeat of undo with the same key changes nothing', async () => {
  const { id: project } = await json(['projects', '--create', 'Repeated'])
  const undo = (...more: string[]) => run(['undo', '-p', project, ...more])
  await json(['batch', '-p', project], { input: JSON.stringify([create('A'), create('B')]) })
  await json(['add', 'C', '-p', project])
  for (const _ of [1, 2]) expect((await undo('--key', 'c')).err).toBe('Undid event 4: version 5\n')
  expect((await undo()).err).toBe('Undid event 5: version 6\n')
  expect((await undo('--key', 'c')).err).toBe('Undid event 4: version 5\n')
  await json(['undo', '-p', project, '--batch', '2', '--key', 'ab'])
  expect((await undo('--key', 'ab')).err).toBe('Undid batch 2: version 8\n')
  expect((await undo('--seq', '4', '--key', 'ab')).code).toBe(5)
  expect(await titles(project)).toEqual(['C'])
})

test('history shows changes of a project or a task, newest first', async () => {
  const { id: project } = await json(['projects', '--create', 'Past'])
  const task = await json(['add', 'Draw', '-p', project])
  await json(['edit', task.id, '--status', 'done', '--title', 'Draw it'])
  await json(['add', 'Oil', '-p', project])
  const { out } = await run(['history', '-p', project, '--limit', '2'])
  expect(out).toMatch(/^SEQ +AT +BY +EVENT +TASK +CHANGE\n4 +\S+ \S+ +Ada +task.created +#2 Oil +Oil\n/)
  expect(out).toMatch(
    /3 .* task.updated +#1 Draw it +(title Draw → Draw it, status TODO → DONE|status .*)\n$/,
  )
  const seqs = async (...line: string[]) =>
    (await json(['history', ...line])).map(({ seq }: { seq: number }) => seq)
  expect(await seqs('1', '-p', project)).toEqual([3, 2])
  expect(await seqs('-p', project, '--actor', 'me', '--types', 'task.created')).toEqual([4, 2])
  expect((await run(['history', '1', '-p', project, '--entity', 'task'])).code).toBe(2)
  expect((await run(['history', '-p', project, '--actor', ''])).code).toBe(3)
})

test('tail prints events as they happen, as lines of text or JSON', async () => {
  const { id: project } = await json(['projects', '--create', 'Live'])
  const line = ['tail', '-p', project]
  const [lines, done] = [
    run([...line, '--after', '1', '--limit', '2', '--json']),
    run([...line, '--after', '0', '--types', 'task.updated', '--limit', '1']),
  ]
  const task = await json(['add', 'Draw', '-p', project])
  await json(['done', task.id])
  const events = (await lines).out.trim().split('\n')
  expect(events.map((event) => JSON.parse(event).seq)).toEqual([2, 3])
  expect((await done).out).toContain('#1 Draw  status TODO → DONE')
  expect((await run([...line, '--types', 'task.craeted'])).code).toBe(1)
  const own = await run([...line, '--after', '0', '--except-actor', 'mine', '--limit', '1'])
  expect([own.code, own.err]).toEqual([
    1,
    expect.stringContaining('exceptActor must be the id of an account'),
  ])
  const bea = await register(service.client, 'Bea')
  await invite(ada, project, bea, 'EDITOR')
  const { id: hers } = await make(bea, '/tasks', { projectId: project, title: 'Hers' })
  const others = await run([...line, '--after', '0', '--except-actor', 'me', '--limit', '1', '--json'])
  expect(JSON.parse(others.out)).toMatchObject({ type: 'task.created', entityId: hers, seq: 5 })
  let isRunning = true
  const next = run([...line, '--limit', '1']).finally(() => (isRunning = false))
  // Without --after, tail prints only events after its start.
  while (isRunning) await json(['comment', task.id, 'Oiled'])
  expect((await next).out).toMatch(/^\d+ {2}\S+ \S+ {2}Ada {2}comment\.created {2}#1 Draw {2}Oiled\n$/)
})

test('tail continues with a snapshot when the next events have expired', async () => {
  const { id: project } = await json(['projects', '--create', 'Old'])
  await json(['add', 'Draw', '-p', project])
  let opened = 0
  const expired = async (url: string, init: RequestInit) => {
    // The first request of `tail` checks its options; `follow` sends the second and third.
    const isExpired = url.includes('/events') && ++opened > 1 && opened <= 3
    return isExpired ? Response.json({ message: 'Expired' }, { status: 410 }) : send(url, init)
  }
  const line = ['tail', '-p', project, '--after', '0', '--limit', '1', '--json']
  const running = run(line, { fetch: expired })
  while (opened < 4) await Bun.sleep(5)
  await json(['add', 'Oil', '-p', project])
  const { out, err } = await running
  const [snapshot, event] = out
    .split('\n')
    .slice(0, 2)
    .map((one) => JSON.parse(one))
  expect(snapshot).toMatchObject({ type: 'snapshot', seq: 2, tasks: [{ title: 'Draw' }] })
  expect([event.seq, err]).toEqual([3, 'The service has deleted the next events: continuing after event 2\n'])
})
