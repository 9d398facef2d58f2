import type { Config } from '../../src/config.ts'
import type { MailPurpose } from '../../src/jobs/queue.ts'

export const lifetimeMinutes: Record<MailPurpose, number> = { verify: 1_440, reset: 30 }

const texts = {
  verify: {
    subject: 'Verify your email address',
    why: 'An account at Docket was registered with this email address.\nTo verify that the address is yours',
    page: 'verify-email',
    path: '/auth/email/verify',
    lifetime: '24 hours',
    otherwise: 'If you did not register, ignore this mail and do not use the token.',
  },
  reset: {
    subject: 'Reset your password',
    why: 'Somebody asked to set a new password for your account at Docket.\nTo set it',
    page: 'reset-password',
    path: '/auth/password/reset',
    lifetime: '30 minutes',
    otherwise: 'If you did not ask, ignore this mail: your password does not change.',
  },
}

/** Contains no text from callers. In the link, the token is in the fragment, which browsers do not send. */
export function mailOf(
  purpose: MailPurpose,
  token: string,
  { publicUrl, basePath }: Pick<Config, 'publicUrl' | 'basePath'>,
) {
  const { subject, why, page, path, lifetime, otherwise } = texts[purpose]
  const link = publicUrl && `${publicUrl.replace(/\/+$/, '')}/${page}#token=${token}`
  const lines = [
    ...(link ? [`${why}, open`, '', link, '', 'or send this token'] : [`${why}, send this token`]),
    ...[`to POST ${basePath}/api/v1${path} within ${lifetime}:`, '', token, '', otherwise, ''],
  ]
  return { subject, text: lines.join('\n'), headers: { 'Auto-Submitted': 'auto-generated' } }
}
