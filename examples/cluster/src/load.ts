import { Agent, get } from 'node:http'

/** The results of a client's requests. */
export interface Client {
  readonly name: string
  readonly perSecond: number
  asked: number
  served: number
  refused: number
  failed: number
}

/** Eighteen quiet clients, and two that each ask for half the capacity, if that is 100 a second. */
export function population(perSecondOfAll = 100): Client[] {
  return Array.from({ length: 20 }, (_, i) => {
    const perSecond = ((i < 18 ? 3.3 : 50) * perSecondOfAll) / 100
    return { name: `client-${i}`, perSecond, asked: 0, served: 0, refused: 0, failed: 0 }
  })
}

/**
 * Sends each client's requests for `seconds`, as Poisson arrivals that do not depend on the answers, each to the result
 * of `url`.
 */
export async function send(url: () => string, clients: readonly Client[], seconds: number): Promise<void> {
  // Each request on a connection of its own, so that the system distributes them over the workers.
  const agent = new Agent({ keepAlive: false })
  const end = performance.now() + 1000 * seconds
  const ask = (client: Client): Promise<void> =>
    new Promise((done) => {
      client.asked++
      const request = get(url(), { agent, headers: { 'x-api-key': client.name } }, (answer) => {
        answer.resume()
        if (answer.statusCode === 200) client.served++
        else if (answer.statusCode === 429) client.refused++
        else client.failed++
        done()
      })
      request.on('error', () => done())
    })
  const pause = (client: Client): number => (-Math.log(1 - Math.random()) * 1000) / client.perSecond
  const play = async (client: Client): Promise<void> => {
    const asked: Promise<void>[] = []
    for (let at = performance.now() + pause(client); at < end; at += pause(client)) {
      await new Promise((due) => setTimeout(due, Math.max(0, at - performance.now())))
      asked.push(ask(client))
    }
    await Promise.all(asked)
  }
  await Promise.all(clients.map(play))
}

/** The rates over `seconds`; the first eighteen clients are the quiet ones. */
export function figures(clients: readonly Client[], seconds: number): object {
  const quiet = clients.slice(0, 18).map(({ served, asked }) => served / asked)
  const sum = (what: 'asked' | 'served' | 'failed'): number => clients.reduce((total, each) => total + each[what], 0)
  return {
    'quiet, served of asked': (quiet.reduce((total, share) => total + share) / quiet.length).toFixed(3),
    'the worst of them': Math.min(...quiet).toFixed(3),
    'failed of let in': (sum('failed') / (sum('served') + sum('failed'))).toFixed(3),
    'served per second': (sum('served') / seconds).toFixed(1),
  }
}
