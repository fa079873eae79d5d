import type { After } from '../clock.js'
import { CapacityError, type Eventually } from './protocol.js'

/**
 * What `send` answers, or a {@link CapacityError} after `ms` milliseconds; its signal then fires, and what comes later
 * is nobody's. Never outlasts `ms`, even if `send` does not look at the signal.
 */
export function withinDeadline<T>(ms: number, after: After, send: (signal: AbortSignal) => Eventually<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    const controller = new AbortController()
    const cancel = after(ms, () => {
      const error = new CapacityError('deadline_exceeded', `no answer in ${ms} ms`)
      reject(error)
      controller.abort(error)
    })
    new Promise<T>((answer) => answer(send(controller.signal))).then(resolve, reject).finally(cancel)
  })
}
