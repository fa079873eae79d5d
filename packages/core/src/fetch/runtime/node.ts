import { systemAfter } from '../../clock.js'
import { NodeAdmission } from '../../http/node-admission.js'
import type { EndListener } from '../../http/open-response.js'
import { defaultShed } from '../../node/default-signals.js'
import { type Host, type ResponseEnd, watchRequest } from '../host.js'
import type { Runtime } from './runtime.js'

/** Time for which an answer without a connection may stay unread, in milliseconds. */
const UNREAD_MS = 60_000

/** Node reports how every response ends, and provides load signals for shedding. */
export const runtime: Runtime = {
  admission: (framework, options) => new NodeAdmission(framework, options),
  shed: defaultShed,
  permitTimeoutMs: undefined,
  watch: watchDetached,
}

/**
 * {@link watchRequest} for a request that has come by no connection, as in `app.request()`: the permit ends when nobody
 * has read on from the answer for a minute.
 */
function watchDetached(request: Request, host: Host | undefined, listener: EndListener): ResponseEnd {
  let isOver = false
  let cancel: (() => void) | undefined
  const reading = (isReading: boolean): void => {
    cancel?.()
    cancel = isReading || isOver ? undefined : systemAfter(UNREAD_MS, () => listener.unheard?.())
  }
  const end = watchRequest(request, host, {
    responseEnded(aborted) {
      isOver = true
      reading(false)
      listener.responseEnded(aborted)
    },
    reading,
  })
  return {
    follow(response, method) {
      const followed = end.follow(response, method)
      reading(false)
      return followed
    },
  }
}
