import process from 'node:process'
import { type Config, renamedSettings, settingNames } from '../config.ts'
import { type Log, openLog, openBufferedLog } from '../log.ts'
import { variableNames } from '../local/environment.ts'
import { misspeltSettings } from '../schema/misspelt.ts'
import { urlsOf } from './port.ts'

/** The command `start` buffers its log until `begin(port)`, which first prints the startup banner with the URLs. */
export function openStartupLog(command: string, { host, logLevel }: Config, isChild: boolean) {
  if (isChild || command !== 'start')
    return { log: openLog(logLevel, isChild ? { pid: process.pid } : null), begin: (_port?: number) => {} }
  const { log, begin } = openBufferedLog(logLevel)
  return {
    log,
    begin(port?: number) {
      const { api, docs } = urlsOf({ host, port: port ?? 0 })
      if (port) process.stdout.write(`API         ${api}\nSwagger UI  ${docs}\n`)
      begin()
    },
  }
}

export function warnOfUnknownSettings(log: Log): void {
  const renamed = renamedSettings()
  const settings = [...settingNames(), ...renamed.keys()]
  const { inFiles, inEnvironment } = variableNames()
  for (const { name: variable, suggestion } of misspeltSettings({ settings, inFiles, inEnvironment }))
    log.warn({ variable }, `unknown setting${suggestion ? `; did you mean ${suggestion}?` : ''}`)
  for (const [variable, name] of renamed)
    if (inEnvironment.includes(variable))
      log.warn({ variable }, `this setting is now called ${name}; the next release ignores the old name`)
}
