import { beforeEach, expect, test } from 'bun:test'
import { readFile, writeFile } from 'node:fs/promises'
import { gunzipSync, gzipSync } from 'node:zlib'
import { applyMissing } from '../../drizzle/apply.ts'
import { isMigrated, knownMigrations, withConnections } from '../../drizzle/migrate.ts'
import { tablesOf } from '../../workers/backup/format.ts'
import { openBackupScene } from './backup-scene.ts'
import { forFile } from '../support/service.ts'

let file: string
const scene = await forFile(openBackupScene())
beforeEach(() => void (file = scene.newFile()))

test('of a backup that is damaged nothing is restored, and the database stays as it is', async () => {
  await scene.admin(scene.own, 'backup', file)
  const whole = await readFile(file)
  const lines = gunzipSync(whole).toString().split('\n')
  const at = lines.findIndex((line) => line.startsWith('COPY "users"')) + 1
  const damages = {
    'cut off': whole.subarray(0, whole.length / 2),
    'without its end': gzipSync(lines.slice(0, -2).join('\n')),
    'ends in a table': gzipSync(lines.slice(0, at + 1).join('\n')),
    'a row without its columns': gzipSync(lines.with(at, 'x').join('\n')),
    'a row that is there twice': gzipSync(lines.toSpliced(at, 0, lines[at]!).join('\n')),
    'another statement': gzipSync(lines.toSpliced(1, 0, 'DROP TABLE "users";').join('\n')),
    'not compressed': Buffer.from(lines.join('\n')),
    'no backup': gzipSync('select 1;\n'),
    empty: Buffer.alloc(0),
  }
  const before = await scene.answersOn(scene.own)
  for (const [damage, content] of Object.entries(damages)) {
    await writeFile(file, content)
    const { code, text } = await scene.admin(scene.own, 'restore', file, 'replace')
    expect([damage, code, text]).toEqual([
      damage,
      1,
      expect.stringMatching(/^(The backup is damaged|This file is no)/),
    ])
  }
  expect(await scene.answersOn(scene.own)).toEqual(before)
})

test('a backup of an earlier release is restored and migrated; one of a later release is rejected', async () => {
  const old = await scene.fresh()
  const known = knownMigrations()
  await withConnections(old, async (sql) => {
    await applyMissing(sql, known.slice(0, 3))
    await sql`insert into users (id, name, email, password_hash, created_at)
      values (gen_random_uuid(), 'Old', 'old@example.com', 'x', now())`
  })
  expect(await scene.admin(old, 'backup', file)).toMatchObject({ code: 0 })
  const restored = await scene.fresh()
  expect((await scene.admin(restored, 'restore', file)).code).toBe(0)
  expect(await isMigrated(restored)).toBe(true)
  const tables = tablesOf(known.slice(0, 3))
  expect(tables.length).toBeLessThan(tablesOf(known).length)
  const [user] = await withConnections(restored, (sql) => sql`select name from users`)
  expect(user).toEqual({ name: 'Old' })

  const later = gunzipSync(await readFile(file))
    .toString()
    .replace('\n', ' 0123abc\n')
  await writeFile(file, gzipSync(later))
  expect((await scene.admin(await scene.fresh(), 'restore', file)).text).toBe(
    'The backup is of a later release: restore it with that release',
  )
})
