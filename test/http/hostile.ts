import fc from 'fast-check'
import { unknownId, words } from '../kit.ts'

export const hostileTexts = [
  ...['', ' ', '\0', 'a\0b', '\ud800', '\udc00\ud800', '\ufeff', '\u202e', '\u2028', '\r\nSet-Cookie: a=b'],
  ...["' or 1=1 --", "'; drop table tasks; --", '{"a": 1}', 'x'.repeat(21_000), '😀'.repeat(600)],
  ...words(
    `' " \\ $1 %s%n \${7*7} {{7*7}} <script> ../../etc/passwd ..%2f..%2f %00 % %zz %ff%fe %c0%ae // . ..
    ; ? # & = + __proto__ constructor prototype toString hasOwnProperty null true NaN -0 1e999 0x10
    Infinity infinity -infinity 9007199254740993 2027-02-30 +275760-09-13T00:00:00Z 0000-00-00
    2027-01-01T00:00:00+23:59 {1,2} [] ADMIN OWNER DONE me`,
  ),
  ...['1'.repeat(400), unknownId, unknownId.toUpperCase(), `{${unknownId}}`, unknownId.replaceAll('-', '')],
]

const nested = (depth: number, open: string, close: string) => open.repeat(depth) + close.repeat(depth)

export const hostileBodies = [
  ...['', ' ', '\0', '\ufeff{}', '{ }'],
  ...words(
    `null true 0 -0 1e999 "text" [] [{}] {} { } [[ {" NaN undefined <a/> /**/{} {"a":NaN} {"a":undefined}
    {"a":1,} {'a':1} {"a":1}} {"":1} {"length":-1} {"__proto__":{"role":"ADMIN"}}
    {"constructor":{"prototype":{"x":1}}} {"__proto__":null,"name":"x"} {"name":"a","name":7}
    {"name":{"$gt":""}} {"title":{"toString":1}}`,
  ),
  ...[`{"title":${'9'.repeat(5_000)}}`, nested(100_000, '[', ']'), nested(100_000, '{"a":', '}')],
  ...[`{"name":"x","deep":${nested(5_000, '[', ']')}}`, `{"name":${nested(5_000, '[', ']')}}`],
  ...[`{"${'k'.repeat(90_000)}":1}`, `[${'0,'.repeat(400_000)}0]`],
]

const fieldNames = words(
  `name email password description role title projectId status priority dueDate assigneeId text completed
  id ownerId number version __proto__ constructor toJSON then`,
)
const queryNames = words(
  'limit cursor sort status priority projectId assigneeId dueBefore dueAfter x limit[] a.b % %00 __proto__ constructor',
)
const queries = words('? ?& ?&&= ?= ?limit ?a=% ?%ff=%ff ?limit=1&limit=2 ?__proto__[x]=1')
const headerNames = words('if-none-match if-match idempotency-key accept cookie x-request-id range')
const headerTexts = words('* " "" W/"x" "a","b" ,,, \' "\\" \\ {} \u00ff bytes=0-1 a=b;c')
const contentTypes = words(
  'application/json application/json;charset=utf-16 text/plain multipart/form-data */*',
)
const cursors = [
  [unknownId],
  [null, unknownId],
  ['2027-01-01T00:00:00.000Z', unknownId],
  ['infinity', unknownId],
]
const validTexts = [
  ...words(
    'Fine ada@example.com secret-1 EDITOR TODO HIGH 2027-01-31T17:00:00Z 2027-01-31 5 200 dueDate -dueDate',
  ),
  ...cursors.map((key) => Buffer.from(JSON.stringify(key)).toString('base64url')),
]

const text = fc.oneof(
  fc.constantFrom(...validTexts),
  fc.constantFrom(...hostileTexts),
  fc.string({ unit: 'binary', maxLength: 60 }),
)
const number = fc.oneof(fc.integer(), fc.double(), fc.constantFrom(0, -0, 1e308, 2 ** 53, -1, 0.1))
const value = fc.oneof(
  { weight: 5, arbitrary: text },
  { weight: 1, arbitrary: fc.oneof(number, fc.boolean(), fc.constant(null), fc.jsonValue({ maxDepth: 4 })) },
)

/** Generates a body: usually the valid body with one to eight fields replaced or added, sometimes any JSON. */
export const arbitraryBody = (valid: object) => {
  const names = fc.constantFrom(...fieldNames, ...Object.keys(valid))
  const replaced = (maxKeys: number) =>
    fc
      .dictionary(names, value, { maxKeys })
      .map((fields) =>
        JSON.stringify(Object.fromEntries([...Object.entries(valid), ...Object.entries(fields)])),
      )
  return fc.oneof(
    { weight: 6, arbitrary: replaced(1) },
    { weight: 2, arbitrary: replaced(8) },
    { weight: 1, arbitrary: fc.json() },
  )
}

const escaped = (text: string) => encodeURIComponent(text.toWellFormed())
const parameter = fc
  .tuple(fc.constantFrom(...queryNames), text)
  .map(([name, text]) => `${name}=${escaped(text)}`)
export const arbitraryQuery = fc.oneof(
  { weight: 2, arbitrary: fc.constant('') },
  { weight: 3, arbitrary: fc.array(parameter, { maxLength: 4 }).map((pairs) => `?${pairs.join('&')}`) },
  { weight: 1, arbitrary: fc.constantFrom(...queries) },
)

const header = fc.oneof(
  fc.constantFrom(...headerTexts),
  fc.string({ maxLength: 300 }).map((text) => text.trim()),
)
const bodyHeaders = {
  'content-type': fc.constantFrom(...contentTypes),
  'content-length': fc.constantFrom('0', '5', '-1', '99999999999', 'x'),
  'x-http-method-override': fc.constant('DELETE'),
}
export const arbitraryHeaders = fc.oneof(
  { weight: 4, arbitrary: fc.constant({}) },
  { weight: 1, arbitrary: fc.record(bodyHeaders, { requiredKeys: [] }) },
  { weight: 2, arbitrary: fc.dictionary(fc.constantFrom(...headerNames), header, { maxKeys: 3 }) },
)

/** Generates a path segment. Empty segments and dots become a space, because a URL parser would remove them. */
export const arbitraryId = fc.oneof(
  text.map((one) => (/^\.{0,2}$/.test(one) ? '%20' : escaped(one))),
  fc.constantFrom('%', '%zz', '%ff', '%00', '%e0%80'),
)
