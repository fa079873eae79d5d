import { programOf } from './program.js'

/** Path of a Chromium that a driver can start. */
export function chromiumPath(): Promise<string> {
  return programOf('chromium', 'chromium', 'to have a browser for tests')
}
