import fc from 'fast-check'
import { cases, versionOf } from '../kit.ts'
import { openMirrorScene } from './mirror-scene.ts'

const { ada, docket, newProject, expectEqual } = await openMirrorScene()

/** Sends a random write, which the service may reject. */
const tryPost = (path: string, body: object = {}) => ada.post(path, body)

async function write(
  [project, other]: [string, string],
  [kind, n, m]: [number, number, number],
): Promise<void> {
  const pick = async (path: string, i: number) => {
    const { body } = await ada.get(path)
    return body[i % Math.max(1, body.length)]?.id
  }
  const task = (i: number, of = project) => pick(`/tasks?projectId=${of}`, i)
  const patch = async (id: string | undefined, body: object) => id && (await ada.patch(`/tasks/${id}`, body))
  const labels = `/projects/${project}/labels`
  const fields = `/projects/${project}/fields`
  const version = await versionOf(ada, project)
  const writes: (() => Promise<unknown>)[] = [
    () => tryPost('/tasks', { projectId: project, title: `T${n}` }),
    async () => tryPost('/tasks', { projectId: project, title: 'Blocked', blockedByIds: [await task(n)] }),
    async () => patch(await task(n), { title: `U${m}`, priority: 'HIGH' }),
    async () => patch(await task(n), { addBlockedByIds: [await task(m)] }),
    async () => patch(await task(n), { addLabelIds: [await pick(labels, m)] }),
    async () => patch(await task(n), { fields: { size: ['small', 'large'][m % 2] } }),
    async () => patch(await task(n), { fields: { note: `N${m}` } }),
    async () => ada.delete(`/tasks/${await task(n)}`),
    async () => patch(await task(n), { projectId: other }),
    async () => patch(await task(n, other), { projectId: project }),
    () => tryPost(labels, { name: `L${n}` }),
    async () => ada.delete(`/labels/${await pick(labels, n)}`),
    () => tryPost(fields, { key: 'size', name: 'Size', type: 'choice', options: ['small', 'large'] }),
    () => tryPost(fields, { key: 'note', name: 'Note', type: 'text' }),
    async () => ada.delete(`/fields/${await pick(fields, n)}`),
    async () =>
      ada.patch(`/fields/${await pick(fields, n)}`, { options: m % 2 ? ['large'] : ['small', 'large'] }),
    () => tryPost(`/projects/${project}/undo`, { seq: Math.max(1, version - (n % 6)) }),
    () =>
      tryPost(`/projects/${project}/undo`, {
        seqs: [version, version - 1, version - 2].filter((seq) => seq > 1),
      }),
    async () => tryPost(`/tasks/${await task(n)}/claim`, { leaseSeconds: 300 }),
    async () => tryPost(`/tasks/${await task(n)}/subtasks`, { title: 'Part' }),
  ]
  await writes[kind % writes.length]!()
}

const writes = (maxLength: number) =>
  fc.array(fc.tuple(fc.nat(19), fc.nat(20), fc.nat(20)), { minLength: maxLength / 2, maxLength })

test('a mirror equals the tasks of the service at every version, under random writes', async () => {
  const property = fc.asyncProperty(writes(30), writes(40), async (before, during) => {
    const projects: [string, string] = [await newProject(), await newProject()]
    for (const one of before) await write(projects, one)
    const stop = new AbortController()
    const mirror = docket.project(projects[0]).mirror({ signal: stop.signal })
    try {
      for (const one of during) {
        await write(projects, one)
        await expectEqual(mirror, projects[0])
      }
    } finally {
      stop.abort()
    }
  })
  await fc.assert(property, { numRuns: cases(3) })
})
