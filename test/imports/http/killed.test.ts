import { connect } from 'node:net'
import { expect, test } from 'bun:test'
import { readConfig } from '../../../src/config.ts'
import { openDatabase } from '../../../src/postgres/database.ts'
import { expireImports } from '../../../workers/imports/remove.ts'
import { expectError } from '../../http/responses.ts'
import { requestHead } from '../../http/raw.ts'
import { eventually, openPair } from '../../races/pair.ts'
import { make } from '../../support/client.ts'
import { forFile } from '../../support/service.ts'
import { rowsOf, start } from './scene.ts'

const { a, atA, atB, env } = await openPair()
const { background: sql } = await forFile(openDatabase(readConfig(env)))

test('an upload whose web process was killed blocks the project for 20 seconds', async () => {
  const { id } = await make(atA, '/projects', { name: 'P' })
  const socket = connect(Number(new URL(a.url).port), '127.0.0.1').on('error', () => {})
  const path = `/api/v1/projects/${id}/imports?source=csv`
  const headers = { Authorization: `Bearer ${atA.token}`, 'Content-Length': 1_048_576 }
  socket.write(requestHead('POST', path, headers) + 'x'.repeat(300_000))
  const hasHeartbeat = async () =>
    (await sql`select id from imports where project_id = ${id} and started_at is not null`).length > 0
  await eventually('a heartbeat', async () => {
    // The client sends a byte within the limit of 15 s.
    if (!socket.destroyed) socket.write('x')
    return hasHeartbeat()
  })
  await a.stop('SIGKILL')
  expectError(await start(atB, id), 409)
  await sql`update imports set started_at = now() - interval '21 seconds' where project_id = ${id}`
  expect((await start(atB, id)).status).toBe(202)
  await expireImports(sql, { batchRows: 100, pauseMs: 0 })
  expect(await rowsOf(sql, id)).toBe(1)
  expect((await sql`select distinct import_id from import_chunks`).length).toBe(1)
})
