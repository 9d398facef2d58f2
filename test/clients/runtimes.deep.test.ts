import { forFile, make, openTcpProxyTo, openWebProcess } from '../kit.ts'
import { expectShownOutput, programOf } from './readme-program.ts'
import { runIn, runtimes } from './runtimes.ts'

const { web, ada } = await forFile(openWebProcess())

test.each(runtimes)('%s: every example of the README prints the shown output', async (runtime) => {
  expectShownOutput(await runIn(runtime, programOf(web.url, runtime)))
})

const lostAnswers = 2
let lost = 0
/** Closes the connections of the first creates before the responses. */
const proxy = await forFile(
  openTcpProxyTo(web.url, {
    intercept(chunk, to, { client }) {
      const isAnswer = to === client && chunk.toString('latin1').startsWith('HTTP/1.1 201')
      if (!isAnswer || lost === lostAnswers) return false
      lost += 1
      client.destroy()
      return true
    },
  }),
)

test.each(runtimes)('%s: a create whose response is lost twice creates one task', async (runtime) => {
  lost = 0
  const { id: projectId } = await make(ada, '/projects', { name: 'Engine' })
  const printed = await runIn(
    runtime,
    `import { Docket } from 'docket-client'
    const docket = new Docket({ url: '${proxy.url}', token: '${ada.token}' })
    const { id } = await docket.tasks.create({ projectId: '${projectId}', title: 'Draw' })
    console.log(id)`,
  )
  expect(lost).toBe(lostAnswers)
  const { body: tasks } = await ada.get(`/tasks?projectId=${projectId}`)
  expect(tasks.map(({ id }) => id)).toEqual([printed.trim()])
})
