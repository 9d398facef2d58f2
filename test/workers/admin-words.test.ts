import { expect, test } from 'bun:test'
import { readAdmin, type Said } from '../../workers/admin/admin.ts'

const problems = [
  [['sing'], '"sing" is no command'],
  [['user'], '"user" is no command; did you mean users?'],
  [['users', 'creat'], '"creat" is no command of users; did you mean create?'],
  [['users', 'create', 'x'], 'users create: <name> is missing'],
  [['users', 'create'], 'users create: <email> and <name> are missing'],
  [
    ['users', 'create', 'g@x.io', 'Grace', 'Hopper'],
    'users create: "Hopper" is one word too many; quote a name',
  ],
  [['backup'], 'backup: <file> is missing'],
  [['restore', 'a', 'replace', 'b'], 'restore: "b" is one word too many'],
  [['constructor'], '"constructor" is no command'],
] as const

test.each(problems)('of a wrong command line %p it says: %s', (words, problem) => {
  const { code, text } = readAdmin([...words]) as Said
  expect([code, text]).toEqual([1, expect.stringContaining(problem)])
  expect(text).toContain('npm run admin -- …')
})
