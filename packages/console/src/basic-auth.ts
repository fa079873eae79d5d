import { requireText, show } from '@fairlead/core/internal'
import type { Auth } from './options.js'

/**
 * An `auth` that asks the browser for a name and a password: HTTP's Basic scheme. The name appears in the audit of
 * actions. `passwords` are by name; a missing or empty password throws a `TypeError`, so an unset variable opens
 * nothing. Use it over TLS only: the browser sends both with each request, merely encoded. The time of a comparison
 * depends only on the length of the password.
 *
 * @see RFC 7617
 */
export function basicAuth(passwords: Readonly<Record<string, string | undefined>>): Auth {
  if (typeof passwords !== 'object' || passwords === null || Array.isArray(passwords))
    throw new TypeError(`passwords must be an object with names and their passwords, got ${show(passwords)}`)
  const known = new Map<string, string>()
  for (const [name, password] of Object.entries(passwords)) {
    requireText(`password of ${show(name)}`, password)
    if (name === '' || name.includes(':'))
      throw new TypeError(`a name must not be empty or have a colon, got ${show(name)}`)
    known.set(name, password!)
  }
  if (known.size === 0) throw new TypeError('basicAuth needs a name and its password, got none')
  return async (request) => {
    const { name, password } = credentialsOf(request.headers.get('authorization'))
    const expected = known.get(name)
    // An unknown name takes as long as a known one.
    const isSame = await areSame(password, expected ?? '')
    if (isSame && expected !== undefined) return name
    return new Response('Who are you?\n', {
      status: 401,
      headers: {
        'content-type': 'text/plain; charset=utf-8',
        'www-authenticate': 'Basic realm="Fairlead", charset="UTF-8"',
        'cache-control': 'no-store',
      },
    })
  }
}

/** Empty if there are none. */
function credentialsOf(header: string | null): { name: string; password: string } {
  const [, encoded = ''] = /^basic +([a-z\d+/]+=*)$/i.exec(header ?? '') ?? []
  let text = ''
  try {
    text = new TextDecoder().decode(Uint8Array.from(atob(encoded), (character) => character.charCodeAt(0)))
  } catch {
    // Invalid base64 counts as no credentials.
  }
  const colon = text.indexOf(':')
  return colon < 0 ? { name: '', password: '' } : { name: text.slice(0, colon), password: text.slice(colon + 1) }
}

/** Compares digests, so that the time reveals nothing about the position of a difference. */
async function areSame(a: string, b: string): Promise<boolean> {
  const digestOf = async (text: string): Promise<Uint8Array> =>
    new Uint8Array(await crypto.subtle.digest('SHA-256', new TextEncoder().encode(text)))
  const [one, other] = [await digestOf(a), await digestOf(b)]
  let difference = 0
  for (const [i, byte] of one.entries()) difference |= byte ^ other[i]!
  return difference === 0
}
