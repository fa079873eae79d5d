import { type DoormanFleet, doormanFleet } from '@fairlead/core/doorman'
import { ClockDesk, requireFunction, requireOptions, systemAfter, systemClock } from '@fairlead/core/internal'

/**
 * A Durable Object that keeps the clocks shared by gates in many isolates: {@link durableObjectFleet} calls it. Export
 * it from your worker, and bind it. It stores nothing: after an eviction or a migration it continues from the gates'
 * reports.
 */
export class FleetClock {
  readonly #desk = new ClockDesk(systemClock, systemAfter)

  /** Answers a report when there is a lease for its sender; 400 for an invalid report. */
  async fetch(request: Request): Promise<Response> {
    const body: unknown = await request.json().catch(() => undefined)
    const [name, report] = Array.isArray(body) ? (body as unknown[]) : []
    if (typeof name !== 'string' || typeof report !== 'string')
      return new Response('a report is a list of the name of a clock and a text', { status: 400 })
    return Response.json(await this.#desk.report(name, report))
  }
}

/** The methods of a binding of {@link FleetClock} that {@link durableObjectFleet} calls. */
export interface FleetClockNamespaceLike {
  /** The id of the object of that name. */
  idFromName(name: string): unknown
  /** The object with that id. */
  get(id: unknown): FleetClockLike
}

/** The method of a {@link FleetClock} stub that {@link durableObjectFleet} calls. */
export interface FleetClockLike {
  /** Sends a request to the object. */
  fetch(url: string, init: { method: string; body: string }): Promise<Response>
}

/** Options of {@link durableObjectFleet}. */
export interface DurableObjectFleetOptions {
  /** The binding of the class {@link FleetClock}. */
  namespace: FleetClockNamespaceLike
  /**
   * `waitUntil` of `cloudflare:workers`: the answer to a report may arrive after the end of the request that sent it.
   */
  waitUntil: (answer: Promise<unknown>) => void
}

/**
 * Lets the isolates of a worker share FAIR's clock through a Durable Object: for `createGate({ name, fleet })`. All
 * gates of one name that reach the same object share a clock; one object keeps all clocks of a namespace.
 *
 * Without a shortage, it only asks whether others share a clock: three times in its first three seconds of requests,
 * and later if some fail, at most once a minute in the end. During a shortage each isolate makes at most four calls a
 * second, alongside its requests, none of which waits for a call. If the object is unavailable, each isolate uses its
 * own clock within two seconds.
 *
 * @throws TypeError that names an invalid option
 */
export function durableObjectFleet(options: DurableObjectFleetOptions): DoormanFleet {
  requireOptions('durableObjectFleet', options, ['namespace', 'waitUntil'])
  const { namespace, waitUntil } = options
  requireFunction('namespace.idFromName', namespace?.idFromName)
  requireFunction('waitUntil', waitUntil)
  const ask = async (url: string, body: string): Promise<Response> => {
    const answer = await namespace.get(namespace.idFromName('clocks')).fetch(url, { method: 'POST', body })
    // Read completely here, as part of the promise passed to `waitUntil`: the rest of a body is lost when the request
    // has ended.
    const text = await answer.text()
    return { ok: answer.ok, status: answer.status, text: () => Promise.resolve(text) } as Response
  }
  return doormanFleet({
    url: 'https://fleet-clock',
    fetch(input, init) {
      const answer = ask(String(input), String(init?.body))
      waitUntil(answer.catch(() => {}))
      return until(init?.signal, answer)
    },
  })
}

/** The answer, unless the call is abandoned before. */
function until(signal: AbortSignal | null | undefined, answer: Promise<Response>): Promise<Response> {
  return new Promise((resolve, reject) => {
    signal?.addEventListener('abort', () => reject(signal.reason), { once: true })
    answer.then(resolve, reject)
  })
}
