import { programOf } from './program.js'

/** Path of a Chromium, for a driver to start. */
export function chromiumPath(): Promise<string> {
  return programOf('chromium', 'chromium', 'to have a browser for tests')
}
