import { Elysia } from 'elysia'
import type { Config } from '../config.ts'
import { hasBody, readBody } from './json-body.ts'

// What Elysia does otherwise than we need it. That it still does, test/core/still-needed.test.ts shows.

/**
 * `{ jsonBody: true }` on a route reads its body, `{ optionalJsonBody: true }` one that may be left away. Elysia would parse before it knows the caller
 * (https://elysiajs.com/essential/life-cycle): reading in `transform` keeps the order everybody expects: 401, 415, 413, 400.
 */
export const bodyReading = ({ bodyBytes, bodyTimeoutMs }: Pick<Config, 'bodyBytes' | 'bodyTimeoutMs'>) =>
  new Elysia({ name: 'body-reading', seed: bodyBytes }).macro({
    jsonBody: {
      parse: () => ({}),
      async transform(context: { request: Request; body: unknown }) {
        context.body = await readBody(context.request, bodyBytes, bodyTimeoutMs)
      },
    },
    optionalJsonBody: {
      parse: () => ({}),
      async transform(context: { request: Request; body: unknown }) {
        const { request } = context
        context.body = hasBody(request) ? await readBody(request, bodyBytes, bodyTimeoutMs) : {}
      },
    },
  })
