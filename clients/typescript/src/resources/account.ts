import type { Calls } from '../calls/calls.ts'

/** The account of the caller. `register`, `login`, `verifyEmail`, `forgotPassword` and `resetPassword` need no token. */
export const openAccount = (calls: Calls) => ({
  register: calls.write('register', 'POST /auth/register'),
  login: calls.write('login', 'POST /auth/login'),
  get: calls.plain('getMe', 'GET /auth/me'),
  update: calls.write('updateMe', 'PATCH /auth/me'),
  delete: calls.write('deleteMe', 'DELETE /auth/me'),
  /** Revokes the token of this client. */
  logout: calls.plain('logout', 'POST /auth/logout'),
  logoutAll: calls.plain('logoutAll', 'POST /auth/logout-all'),
  verifyEmail: calls.write('verifyEmail', 'POST /auth/email/verify'),
  resendVerification: calls.plain('resendVerification', 'POST /auth/email/resend'),
  forgotPassword: calls.write('forgotPassword', 'POST /auth/password/forgot'),
  resetPassword: calls.write('resetPassword', 'POST /auth/password/reset'),
  /** Reads all data of the caller as a `.tar.gz`. */
  export: calls.file('exportAccount', 'GET /export'),
})
