import { unknownId } from './responses.ts'

const words = (text: string) => text.split(' ')

/** Texts that have broken services before. */
export const hostileTexts = [
  ...['', ' ', '\0', 'a\0b', '\ud800', '\udc00\ud800', '\ufeff', '\u202e', '\u2028', '\r\nSet-Cookie: a=b'],
  ...["' or 1=1 --", "'; drop table tasks; --", '{"a": 1}', 'x'.repeat(21_000), '😀'.repeat(600)],
  ...words(
    '\' " \\ $1 %s%n ${7*7} {{7*7}} <script> ../../etc/passwd ..%2f..%2f %00 % %zz %ff%fe %c0%ae // . ..',
  ),
  ...words('; ? # & = + __proto__ constructor prototype toString hasOwnProperty null true NaN -0 1e999 0x10'),
  ...words('Infinity infinity -infinity 9007199254740993 2027-02-30 +275760-09-13T00:00:00Z 0000-00-00'),
  ...words('2027-01-01T00:00:00+23:59 {1,2} [] ADMIN OWNER DONE me'),
  ...['1'.repeat(400), unknownId, unknownId.toUpperCase(), `{${unknownId}}`, unknownId.replaceAll('-', '')],
]

const nested = (depth: number, open: string, close: string) => open.repeat(depth) + close.repeat(depth)

export const hostileBodies = [
  ...words(
    'null true 0 -0 1e999 "text" [] [{}] {} { } [[ {" NaN undefined <a/> /**/{} {"a":NaN} {"a":undefined}',
  ),
  ...['', ' ', '\0', '\ufeff{}', '{"a":1,}', "{'a':1}", '{"a":1}}', '{"":1}', '{"length":-1}'],
  ...[
    '{"__proto__":{"role":"ADMIN"}}',
    '{"constructor":{"prototype":{"x":1}}}',
    '{"__proto__":null,"name":"x"}',
  ],
  ...[
    '{"name":"a","name":7}',
    '{"name":{"$gt":""}}',
    '{"title":{"toString":1}}',
    `{"title":${'9'.repeat(5_000)}}`,
  ],
  ...[
    nested(100_000, '[', ']'),
    nested(100_000, '{"a":', '}'),
    `{"name":"x","deep":${nested(5_000, '[', ']')}}`,
  ],
  ...[`{"name":${nested(5_000, '[', ']')}}`, `{"${'k'.repeat(90_000)}":1}`, `[${'0,'.repeat(400_000)}0]`],
]

/** Names that some operation knows, and some that none should. */
export const fieldNames = words(
  'name email password description role title projectId status priority dueDate assigneeId text completed ' +
    'id ownerId number version __proto__ constructor toJSON then',
)
export const queryNames = words(
  'limit cursor sort status priority projectId assigneeId dueBefore dueAfter x limit[] a.b % %00 __proto__ constructor',
)
export const queries = words('? ?& ?&&= ?= ?limit ?a=% ?%ff=%ff ?limit=1&limit=2 ?__proto__[x]=1')

export const headerNames = words('if-none-match if-match idempotency-key accept cookie x-request-id range')
export const headerTexts = words('* " "" W/"x" "a","b" ,,, \' "\\" \\ {} \u00ff bytes=0-1 a=b;c')
export const contentTypes = words(
  'application/json application/json;charset=utf-16 text/plain multipart/form-data */*',
)

const cursors = [
  [unknownId],
  [null, unknownId],
  ['2027-01-01T00:00:00.000Z', unknownId],
  ['infinity', unknownId],
]

/** Texts that are right in some place. */
export const validTexts = [
  ...words(
    'Fine ada@example.com secret-1 EDITOR TODO HIGH 2027-01-31T17:00:00Z 2027-01-31 5 200 dueDate -dueDate',
  ),
  ...cursors.map((key) => Buffer.from(JSON.stringify(key)).toString('base64url')),
]
