import { settingNames } from '../../src/config.ts'
import { misspeltSettings } from '../../src/process/startup-banner.ts'
import { words } from '../kit.ts'

const reported = (inFiles: string[], inEnvironment: string[] = []) =>
  misspeltSettings({ settings: settingNames(), inFiles, inEnvironment }).map(({ name, suggestion }) => [
    name,
    suggestion,
  ])

test('reports an unknown variable of .env, and suggests the nearest setting', () => {
  expect(reported(['WRITE_TIMEOUT', 'HISTORYDAYS', 'LOG_LEVL', 'PROT', 'COLOUR', 'PORT'])).toEqual([
    ['WRITE_TIMEOUT', 'WRITE_TIMEOUT_MS'],
    ['HISTORYDAYS', 'HISTORY_DAYS'],
    ['LOG_LEVL', 'LOG_LEVEL'],
    ['PROT', 'PORT'],
    ['COLOUR', undefined],
  ])
})

test('accepts variables of .env that other programs read', () => {
  const others = words('POSTGRES_PASSWORD POSTGRES_HOST REDIS_PASSWORD COMPOSE_PROJECT_NAME PGPASSWORD')
  const runtime = words('TZ HTTPS_PROXY http_proxy NODE_EXTRA_CA_CERTS BUN_OPTIONS OTEL_SERVICE_NAME')
  expect(reported([...others, ...runtime])).toEqual([])
  expect(reported(['NODE_ENVV'])).toEqual([['NODE_ENVV', 'NODE_ENV']])
})

test('reports an unknown environment variable only if its name is a typo of a setting', () => {
  expect(reported([], ['READ_CONECTIONS', 'LOGLEVEL'])).toEqual([
    ['READ_CONECTIONS', 'READ_CONNECTIONS'],
    ['LOGLEVEL', 'LOG_LEVEL'],
  ])
  const usual = words('PATH HOME PWD HOSTNAME HOSTTYPE LOGNAME USER LANG TERM SHLVL EDITOR')
  const desktop = words('XDG_DATA_DIRS DATA_HOME COLORTERM npm_lifecycle_event NODE INIT_CWD POST')
  expect(reported([], [...usual, ...desktop, ...Object.keys(process.env), ...settingNames()])).toEqual([])
})
