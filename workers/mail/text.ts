import type { MailPurpose } from '../../src/jobs/queue.ts'

export const lifeMinutes: Record<MailPurpose, number> = { verify: 1_440, reset: 30 }

interface Text {
  subject: string
  why: string
  page: string
  path: string
  life: string
  otherwise: string
}

const texts: Record<MailPurpose, Text> = {
  verify: {
    subject: 'Verify your email address',
    why: 'An account at Docket was registered with this email address.\nTo verify that the address is yours',
    page: 'verify-email',
    path: '/auth/email/verify',
    life: '24 hours',
    otherwise: 'If you did not register, ignore this mail: do not use the token.',
  },
  reset: {
    subject: 'Reset your password',
    why: 'Somebody asked to set a new password for your account at Docket.\nTo set it',
    page: 'reset-password',
    path: '/auth/password/reset',
    life: '30 minutes',
    otherwise: 'If it was not you, ignore this mail: your password stays as it is.',
  },
}

/**
 * A mail contains nothing that a caller wrote. The token in the link is behind a #, which browsers send to no server.
 * @param publicUrl the application with the pages; without it there is no link
 */
export function mailOf(purpose: MailPurpose, token: string, publicUrl: string) {
  const { subject, why, page, path, life, otherwise } = texts[purpose]
  const link = publicUrl && `${publicUrl.replace(/\/+$/, '')}/${page}#token=${token}`
  const lines = [
    ...(link ? [`${why}, open`, '', link, '', 'or send this token'] : [`${why}, send this token`]),
    ...[`to POST /api/v1${path} within ${life}:`, '', token, '', otherwise, ''],
  ]
  return { subject, text: lines.join('\n'), headers: { 'Auto-Submitted': 'auto-generated' } }
}
