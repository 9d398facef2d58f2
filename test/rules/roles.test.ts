import { expect, test } from 'bun:test'
import type { State } from '../../src/actor/state.ts'
import { requireRole, type Role, suffices } from '../../src/identity/rights.ts'
import { callers, everyCommand, events } from './every-command.ts'
import { projectDeleted } from './given-events.ts'
import { contextOf, folded, errorOf } from './given.ts'

type Rule = (typeof everyCommand)[number]['rule']
const statusOf = (rule: Rule, state: State, caller: string) =>
  errorOf(() => rule(state, contextOf(caller)))?.status ?? 200

for (const { name, rule, answers } of everyCommand) {
  test(`only callers with the right role may ${name}`, () => {
    expect(callers.map((caller) => statusOf(rule, folded(events), caller))).toEqual(answers)
  })

  test(`no caller may ${name} in a deleted project`, () => {
    const state = folded([...events, projectDeleted])
    expect(callers.map((caller) => statusOf(rule, state, caller))).toEqual([404, 404, 404, 404, 404])
  })
}

test('each role includes the rights of all lower roles', () => {
  const ascending: Role[] = ['VIEWER', 'EDITOR', 'ADMIN', 'OWNER']
  const matrix = ascending.map((has) => ascending.map((role) => suffices(has, role)))
  expect(matrix).toEqual(ascending.map((_, has) => ascending.map((_, role) => has >= role)))
})

test('a caller without a role gets 404, and a caller with a lower role gets 403 that names the required role', () => {
  for (const outside of [null, undefined]) {
    const refusal = errorOf(() => requireRole(outside, 'VIEWER', 'Plan'))
    expect(refusal).toEqual({ status: 404, message: 'Plan not found' })
  }
  const refusal = errorOf(() => requireRole('ADMIN', 'OWNER', 'Plan'))
  expect(refusal).toEqual({ status: 403, message: 'This needs the role OWNER in the project' })
})
