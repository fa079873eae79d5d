import { Agent, get } from 'node:http'

/** What became of a client's requests. */
export interface Client {
  readonly name: string
  readonly perSecond: number
  asked: number
  served: number
  refused: number
  failed: number
}

/** Eighteen quiet clients, and two that ask for half of what there is each, if that is 100 a second. */
export function population(perSecondOfAll = 100): Client[] {
  return Array.from({ length: 20 }, (_, i) => {
    const perSecond = ((i < 18 ? 3.3 : 50) * perSecondOfAll) / 100
    return { name: `client-${i}`, perSecond, asked: 0, served: 0, refused: 0, failed: 0 }
  })
}

/** Sends each client's requests, Poisson and whatever the answers are, for so long, each to where `url` says. */
export async function send(url: () => string, clients: readonly Client[], seconds: number): Promise<void> {
  // Each on a connection of its own, so that the system gives it to any of the workers.
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

/** What became of them in `seconds`; the first eighteen are the quiet ones. */
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
