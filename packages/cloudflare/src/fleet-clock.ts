import { type DoormanFleet, doormanFleet } from '@fairlead/core/doorman'
import { ClockDesk, requireFunction, requireOptions, systemAfter, systemClock } from '@fairlead/core/internal'

/**
 * A Durable Object that keeps the clocks which gates in many isolates share: {@link durableObjectFleet} talks to it.
 * Export it from your worker, and bind it. Nothing is stored: after it was evicted or moved it goes on from what the
 * gates know.
 */
export class FleetClock {
  readonly #desk = new ClockDesk(systemClock, systemAfter)

  /** Answers a report as soon as there is a lease for who has sent it; 400 for what is no report. */
  async fetch(request: Request): Promise<Response> {
    const body: unknown = await request.json().catch(() => undefined)
    const { name, member, report } = typeof body === 'object' && body !== null ? (body as Record<string, unknown>) : {}
    if (typeof name !== 'string' || typeof member !== 'string' || typeof report !== 'string')
      return new Response('a report has name, member and report, which are texts', { status: 400 })
    return Response.json(await this.#desk.report(name, member, report))
  }
}

/** What is used of a binding of {@link FleetClock}. */
export interface FleetClockNamespaceLike {
  /** The id of the object with that name. */
  idFromName(name: string): unknown
  /** The object with that id. */
  get(id: unknown): FleetClockLike
}

/** What is used of the object. */
export interface FleetClockLike {
  /** Asks it. */
  fetch(url: string, init: { method: string; body: string }): Promise<Response>
}

/** Options of {@link durableObjectFleet}. */
export interface DurableObjectFleetOptions {
  /** The binding of the class {@link FleetClock}. */
  namespace: FleetClockNamespaceLike
  /** `waitUntil` of `cloudflare:workers`: the answer to a report may come after the request with which it left. */
  waitUntil: (answer: Promise<unknown>) => void
}

/**
 * The isolates of a worker share one sense of fairness by way of a Durable Object: for `createGate({ name, fleet })`. All
 * that give their gate the same name, and reach the same object, share; one object keeps all clocks of a namespace.
 *
 * While nothing is short, nothing is sent. Then each isolate makes ten calls a second at most, with its requests, none of
 * which waits for one. If the object is away, each isolate is on its own within two seconds.
 *
 * @throws TypeError for an option that is wrong, by its name
 */
export function durableObjectFleet(options: DurableObjectFleetOptions): DoormanFleet {
  requireOptions('durableObjectFleet', options, ['namespace', 'waitUntil'])
  const { namespace, waitUntil } = options
  requireFunction('namespace.idFromName', namespace?.idFromName)
  requireFunction('waitUntil', waitUntil)
  const ask = async (url: string, body: string): Promise<Response> => {
    const answer = await namespace.get(namespace.idFromName('clocks')).fetch(url, { method: 'POST', body })
    // Read whole here, as all that is waited for: what is left of it when the request has ended never comes.
    const text = await answer.text()
    return { ok: answer.ok, status: answer.status, text: () => Promise.resolve(text) } as Response
  }
  return doormanFleet({
    url: 'https://fleet-clock',
    fetch(input, init) {
      const answer = ask(String(input), String(init?.body))
      waitUntil(answer.catch(() => {}))
      return answer
    },
  })
}
